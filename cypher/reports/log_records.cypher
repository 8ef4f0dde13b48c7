// name: log-records
// title: Records of logging that are kept, by logger and message
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: logger           STRING   name of the logger; null if it is no text of the dump
// column: message          STRING   message before its arguments are filled in; null for the same
// column: record_count     INTEGER  reachable records
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// A record holds its arguments and the traceback that it was logged with. Handlers that
// keep records, such as those of tests and of MemoryHandler, hold all of that. What
// something else holds too is not counted. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(l:Object)
WHERE t.dump = $dump AND t.name = 'logging.LogRecord' AND l.root_distance IS NOT NULL
OPTIONAL MATCH (l)-[rn:REFERENCES]->(n:Object)-[:INSTANCE_OF]->(nt:Type)
WHERE rn.field = 'name' AND nt.name = 'str'
WITH l, min(n.value) AS logger
OPTIONAL MATCH (l)-[rm:REFERENCES]->(m:Object)-[:INSTANCE_OF]->(mt:Type)
WHERE rm.field = 'msg' AND mt.name = 'str'
WITH l, logger, min(m.value) AS message
ORDER BY l.retained_bytes DESC, l.key
WITH logger, message, count(*) AS record_count,
  sum(l.retained_bytes) AS retained_bytes, collect(l)[0] AS largest
RETURN
  logger,
  message,
  record_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, record_count DESC, largest.key
LIMIT $limit
