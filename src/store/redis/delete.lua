-- Forgets a contest and everything derived from it.
--
-- KEYS: meta, log, newest, tokens, standings, placed
-- ARGV: channel
-- Answers 1, or 0 if it was not there.

local was = redis.call('EXISTS', KEYS[1])
redis.call('UNLINK', unpack(KEYS))
if was == 1 then redis.call('PUBLISH', ARGV[1], '{"epoch":"","version":0,"ids":[]}') end
return was
