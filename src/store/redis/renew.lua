-- Starts a new epoch if the one that the caller saw still holds, or if this is another server process than the epoch's.
--
-- KEYS: meta
-- ARGV: channel, the new epoch, the epoch seen ('' for none)
-- Answers nil (no such contest) or {epoch, sequence} as they hold now.

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'run_id', 'sequence')
local epoch = meta[1]
if not epoch then return false end
if not meta[3] then return redis.error_reply('DAMAGED ' .. KEYS[1] .. ' has no sequence') end
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if run_id ~= meta[2] or epoch == ARGV[3] then
  epoch = ARGV[2]
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'run_id', run_id)
  redis.call('PUBLISH', ARGV[1], string.format('{"epoch":"%s","version":%s,"ids":[]}', epoch, meta[3]))
end
return {epoch, meta[3]}
