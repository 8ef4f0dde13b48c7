-- title: Unreadable files
-- note: Files that could not be added. ingest fleet add --retry-failed tries them again.
SELECT program, error, count(*) AS files, min(source) AS example
FROM dumps WHERE state = 'failed'
GROUP BY program, error
ORDER BY files DESC, program, error
LIMIT $limit
