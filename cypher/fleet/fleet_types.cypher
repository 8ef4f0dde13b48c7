// name: fleet-types
// title: Types by share of a fleet's memory
// group: Fleet
// needs: fleet
// mode: read
// param: program  STRING  = null  only dumps of this program
// param: limit    INTEGER = 20    maximum number of rows
// column: type   STRING   full name of the type
// column: dumps  INTEGER  dumps in which it is one of the largest types
// column: bytes  INTEGER  reachable instances in these dumps, bytes
// column: share  FLOAT    share of the reachable bytes of all dumps, 0 to 1
// column: leaks  INTEGER  leaks whose objects are of this type, whatever the program
//
// The graph has the largest types of each dump, so that a type is missing in dumps
// where it is small; the dataset `types` has them all, and ingest fleet query types
// adds them up.
MATCH (d:FleetDump)
WHERE $program IS NULL OR d.program = $program
WITH sum(d.reachable_bytes) AS all_bytes, collect(d) AS all_dumps
UNWIND all_dumps AS d
MATCH (d)-[h:HAS_TYPE]->(t:FleetType)
WITH all_bytes, t, count(d) AS dumps, sum(h.reachable_bytes) AS bytes
RETURN
  t.name AS type,
  dumps,
  bytes,
  round(toFloat(bytes) / all_bytes, 4) AS share,
  COUNT { (t)<-[:ACCUMULATES]-(:Fingerprint) } AS leaks
ORDER BY bytes DESC, type
LIMIT $limit
