-- Writes places of the standings, each guarded by its version.
--
-- KEYS: meta, standings, placed
-- ARGV: epoch; then three for each member: member, score or '' to take it off,
--       version or '' to take it off whatever its version
-- Answers 1, or 0 if the epoch is not the current one; then nothing was written.

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'run_id')
if meta[1] ~= ARGV[1] then return 0 end
-- Another server process than the epoch's: the epoch is over, the next reader or writer begins a new one.
if string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') ~= meta[2] then return 0 end
-- A wrong type under either key must show before the first write.
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])

local prefix = ARGV[1] .. '-'
for i = 2, #ARGV, 3 do
  local member, score, version = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if version == '' then
    redis.call('ZREM', KEYS[2], member)
    redis.call('HDEL', KEYS[3], member)
  else
    local placed = redis.call('HGET', KEYS[3], member)
    local newer = true
    if placed and string.sub(placed, 1, #prefix) == prefix then
      newer = tonumber(version) > tonumber(string.sub(placed, #prefix + 1))
    end
    if newer then
      if score == '' then
        redis.call('ZREM', KEYS[2], member)
      else
        redis.call('ZADD', KEYS[2], score, member)
      end
      redis.call('HSET', KEYS[3], member, prefix .. version)
    end
  end
end
return 1
