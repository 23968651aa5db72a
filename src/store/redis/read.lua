-- Reads a stretch of a log and where the log stands, at one moment. Writes nothing.
--
-- KEYS: meta, log
-- ARGV: the sequence number to begin with, how many
-- Answers nil (no such contest), {} (another server process than the epoch's: renew first), or
-- {epoch, sequence, record…}.

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'run_id', 'sequence')
if not meta[1] then return false end
if string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') ~= meta[2] then return {} end

local length = redis.call('XLEN', KEYS[2])
if length ~= tonumber(meta[3]) then
  return redis.error_reply(string.format(
    'DAMAGED %s holds %.0f events where %s counts %s', KEYS[2], length, KEYS[1], tostring(meta[3])))
end

local answer = {meta[1], meta[3]}
if ARGV[2] == '0' then return answer end
local first = tonumber(ARGV[1])
for i, entry in ipairs(redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', '+', 'COUNT', ARGV[2])) do
  if entry[1] ~= string.format('%.0f-0', first + i - 1) then
    return redis.error_reply(string.format('DAMAGED %s has a gap at %.0f', KEYS[2], first + i - 1))
  end
  answer[i + 2] = entry[2][2]
end
return answer
