-- Appends a batch to a contest's log: all or nothing.
--
-- KEYS: meta, log, newest, tokens
-- ARGV: channel, an epoch to use if one must begin, the most ids in a hint; then six for each event:
--       collection, object, 'R' if it replaces the collection, digest, token or '', record
-- Answers nil (no such contest) or {epoch, sequence, outcome…}: an outcome is the sequence number, negative for a repeat.
--
-- `newest` holds `sequence:digest` for each object, and for each collection that was ever replaced `sequence:digest` of
-- the replacement, `sequence:` once another event of the type came after it. `tokens` holds `sequence:digest`.
-- Everything that can fail is done before the first write succeeds: scripts do not roll back.

local call, format, find, sub = redis.call, string.format, string.find, string.sub

local meta = call('HMGET', KEYS[1], 'epoch', 'run_id', 'sequence')
local epoch, sequence = meta[1], tonumber(meta[3])
if not epoch then return false end

local run_id = string.match(call('INFO', 'server'), 'run_id:(%w+)')
local renewed = run_id ~= meta[2]
if renewed then epoch = ARGV[2] end

local length = call('XLEN', KEYS[2])
if length ~= sequence then
  return redis.error_reply(format(
    'DAMAGED %s holds %.0f events where %s counts %s', KEYS[2], length, KEYS[1], tostring(meta[3])))
end

local fields, token_fields = {}, {}
for i = 4, #ARGV, 6 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = ARGV[i + 1]
  if ARGV[i + 4] ~= '' then token_fields[#token_fields + 1] = ARGV[i + 4] end
end
local newest, tokens = {}, {}
for i, value in ipairs(call('HMGET', KEYS[3], unpack(fields))) do newest[fields[i]] = value end
if #token_fields > 0 then
  for i, value in ipairs(call('HMGET', KEYS[4], unpack(token_fields))) do tokens[token_fields[i]] = value end
end

local function split(value)
  local colon = find(value, ':', 1, true)
  return tonumber(sub(value, 1, colon - 1)), sub(value, colon + 1)
end

local answer, records = {epoch, 0}, {}
local newest_writes, token_writes = {}, {}
local ids, named = {}, {}
local most = tonumber(ARGV[3])
for i = 4, #ARGV, 6 do
  local collection, object, digest, token = ARGV[i], ARGV[i + 1], ARGV[i + 3], ARGV[i + 4]
  local replaces = ARGV[i + 2] == 'R'
  local repeats, value = nil, nil

  local known = token ~= '' and tokens[token]
  if known then
    local at, content = split(known)
    if content == digest then repeats, value = at, known end
  end
  if not repeats then
    local replaced, replacement = 0, ''
    if newest[collection] then replaced, replacement = split(newest[collection]) end
    if replaces then
      if replacement == digest then repeats, value = replaced, newest[collection] end
    elseif newest[object] then
      local at, content = split(newest[object])
      if content == digest and at > replaced then repeats, value = at, newest[object] end
    end

    if not repeats then
      sequence = sequence + 1
      local number = format('%.0f', sequence)
      value = number .. ':' .. digest
      local n = #records
      records[n + 1], records[n + 2] = number .. '-0', ARGV[i + 5]
      n = #newest_writes
      newest[object], newest_writes[n + 1], newest_writes[n + 2] = value, object, value
      if not replaces and replacement ~= '' then
        local older = format('%.0f:', replaced)
        newest[collection], newest_writes[n + 3], newest_writes[n + 4] = older, collection, older
      end
      if #ids < most and not named[object] then
        named[object] = true
        ids[#ids + 1] = object
      end
    end
  end
  if token ~= '' and value ~= known then
    local n = #token_writes
    tokens[token], token_writes[n + 1], token_writes[n + 2] = value, token, value
  end
  answer[#answer + 1] = repeats and -repeats or sequence
end
answer[2] = sequence

-- The first XADD fails, and nothing is written, if the log went further than its count; then none can fail any more.
for i = 1, #records, 2 do call('XADD', KEYS[2], records[i], 'event', records[i + 1]) end
-- A field that is written twice keeps what comes last.
if #newest_writes > 0 then call('HSET', KEYS[3], unpack(newest_writes)) end
if #token_writes > 0 then call('HSET', KEYS[4], unpack(token_writes)) end

if #records > 0 or renewed then
  call('HSET', KEYS[1], 'epoch', epoch, 'run_id', run_id, 'sequence', format('%.0f', sequence))
  local list = #ids > 0 and cjson.encode(ids) or '[]'
  call('PUBLISH', ARGV[1], format('{"epoch":"%s","version":%.0f,"ids":', epoch, sequence) .. list .. '}')
end
return answer
