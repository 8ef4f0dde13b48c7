-- title: Dumps that do not count
-- note: Files that could not be read, and incomplete dumps, which count in no share. ingest fleet add --retry-failed tries files again that could not be read.
SELECT program, state, coalesce(error, incomplete) AS reason, count(*) AS files,
  min(source) AS example
FROM dumps WHERE state <> 'ready'
GROUP BY program, state, reason
ORDER BY files DESC, program, state, reason
LIMIT $limit
