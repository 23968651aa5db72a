-- Makes a contest, with an empty log.
--
-- KEYS: meta, log, newest, tokens, standings, placed
-- ARGV: epoch
-- Answers 1, or 0 if it was there.

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
-- What an eviction or a half restored backup left behind belongs to no history.
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'run_id', run_id, 'sequence', '0')
return 1
