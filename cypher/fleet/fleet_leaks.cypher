// name: fleet-leaks
// title: Leaks by share of a fleet's dumps
// group: Fleet
// needs: fleet
// mode: read
// param: program  STRING  = null  only dumps of this program
// param: version  STRING  = null  only dumps of this version
// param: limit    INTEGER = 20    maximum number of rows
// column: program      STRING        the program
// column: leak         STRING        what accumulates where
// column: dumps        INTEGER       dumps that have it
// column: share        FLOAT         share of the program's dumps that have it, 0 to 1
// column: hosts        INTEGER       hosts of these dumps
// column: versions     LIST<STRING>  their versions, in order
// column: p50_bytes    INTEGER       what it retains in the median dump that has it, bytes
// column: max_bytes    INTEGER       what it retains in the worst dump, bytes
// column: fingerprint  STRING        equal for the same leak in all dumps
//
// A leak is a suspect of one fingerprint: the same types and fields on the path from
// the root. A high share in a program that does not run out of memory is a cache, so
// look at fleet-new-leaks for what a version has brought, and at fleet-examples for
// dumps to open.
MATCH (p:Program)<-[:OF_PROGRAM]-(d:FleetDump)
WHERE ($program IS NULL OR p.name = $program) AND ($version IS NULL OR d.version = $version)
WITH p, count(d) AS all_dumps, collect(d) AS of_program
UNWIND of_program AS d
MATCH (d)-[l:HAS_LEAK]->(f:Fingerprint)
OPTIONAL MATCH (d)-[:OF_VERSION]->(v:Version)
WITH p, all_dumps, f, d, l, v
ORDER BY v.position
WITH p, all_dumps, f, count(d) AS dumps, count(DISTINCT d.host) AS hosts,
  collect(DISTINCT v.version) AS versions,
  percentileDisc(l.retained_bytes, 0.5) AS p50_bytes,
  max(l.retained_bytes) AS max_bytes
RETURN
  p.name AS program,
  f.leak AS leak,
  dumps,
  round(toFloat(dumps) / all_dumps, 4) AS share,
  hosts,
  versions,
  p50_bytes,
  max_bytes,
  f.fingerprint AS fingerprint
ORDER BY dumps DESC, max_bytes DESC, program, fingerprint
LIMIT $limit
