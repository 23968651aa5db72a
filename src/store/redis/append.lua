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

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'run_id', 'sequence')
local epoch, sequence = meta[1], tonumber(meta[3])
if not epoch then return false end

local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local renewed = run_id ~= meta[2]
if renewed then epoch = ARGV[2] end

local length = redis.call('XLEN', KEYS[2])
if length ~= sequence then
  return redis.error_reply(string.format(
    'DAMAGED %s holds %.0f events where %s counts %s', KEYS[2], length, KEYS[1], tostring(meta[3])))
end

local fields, token_fields = {}, {}
for i = 4, #ARGV, 6 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = ARGV[i + 1]
  if ARGV[i + 4] ~= '' then token_fields[#token_fields + 1] = ARGV[i + 4] end
end
local newest, tokens = {}, {}
for i, value in ipairs(redis.call('HMGET', KEYS[3], unpack(fields))) do newest[fields[i]] = value end
if #token_fields > 0 then
  for i, value in ipairs(redis.call('HMGET', KEYS[4], unpack(token_fields))) do tokens[token_fields[i]] = value end
end

local function split(value)
  local colon = string.find(value, ':', 1, true)
  return tonumber(string.sub(value, 1, colon - 1)), string.sub(value, colon + 1)
end

local answer, records = {epoch, 0}, {}
local changed, changed_tokens = {}, {}
local ids, named = {}, {}
local most = tonumber(ARGV[3])
for i = 4, #ARGV, 6 do
  local collection, object, digest, token = ARGV[i], ARGV[i + 1], ARGV[i + 3], ARGV[i + 4]
  local replaces = ARGV[i + 2] == 'R'
  local repeats = nil

  local known = token ~= '' and tokens[token]
  if known then
    local at, content = split(known)
    if content == digest then repeats = at end
  end
  local replaced, replacement = 0, ''
  if newest[collection] then replaced, replacement = split(newest[collection]) end
  if not repeats then
    if replaces then
      if replacement == digest then repeats = replaced end
    elseif newest[object] then
      local at, content = split(newest[object])
      if content == digest and at > replaced then repeats = at end
    end
  end

  local at = repeats
  if not repeats then
    sequence = sequence + 1
    at = sequence
    records[#records + 1] = ARGV[i + 5]
    local value = string.format('%.0f:', at) .. digest
    newest[object], changed[object] = value, value
    if not replaces and replacement ~= '' then
      value = string.format('%.0f:', replaced)
      newest[collection], changed[collection] = value, value
    end
    if #ids < most and not named[object] then
      named[object] = true
      ids[#ids + 1] = object
    end
  end
  if token ~= '' then
    local value = string.format('%.0f:', at) .. digest
    if tokens[token] ~= value then
      tokens[token], changed_tokens[token] = value, value
    end
  end
  answer[#answer + 1] = repeats and -at or at
end
answer[2] = sequence

-- The first XADD fails, and nothing is written, if the log went further than its count; then none can fail any more.
local first = sequence - #records
for i, record in ipairs(records) do
  redis.call('XADD', KEYS[2], string.format('%.0f-0', first + i), 'event', record)
end

local function write(key, values)
  local flat = {}
  for field, value in pairs(values) do
    flat[#flat + 1] = field
    flat[#flat + 1] = value
  end
  if #flat > 0 then redis.call('HSET', key, unpack(flat)) end
end
write(KEYS[3], changed)
write(KEYS[4], changed_tokens)

if #records > 0 or renewed then
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'run_id', run_id, 'sequence', string.format('%.0f', sequence))
  local list = #ids > 0 and cjson.encode(ids) or '[]'
  redis.call('PUBLISH', ARGV[1],
    string.format('{"epoch":"%s","version":%.0f,"ids":', epoch, sequence) .. list .. '}')
end
return answer
