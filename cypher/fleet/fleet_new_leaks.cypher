// name: fleet-new-leaks
// title: Leaks that a version has and those before it have not
// group: Fleet
// needs: fleet
// mode: read
// param: version    STRING          the version that may have brought them
// param: before     STRING  = null  a version without them; null for all earlier ones
// param: program    STRING  = null  only dumps of this program
// param: min_share  FLOAT   = 0.3   smallest share of the version's dumps, 0 to 1
// param: limit      INTEGER = 20    maximum number of rows
// column: program       STRING   the program
// column: leak          STRING   what accumulates where
// column: dumps         INTEGER  dumps of the version that have it
// column: share         FLOAT    share of the version's dumps that have it, 0 to 1
// column: hosts         INTEGER  hosts of these dumps
// column: p50_bytes     INTEGER  what it retains in the median dump that has it, bytes
// column: dumps_before  INTEGER  dumps of the versions before, none of which has it
// column: example       STRING   the dump in which it retains most: a path or an address
// column: fingerprint   STRING   equal for the same leak in all dumps
//
// Programs without dumps of an earlier version are left out: all their leaks would be
// new. A leak that few of the earlier dumps could have had is not proved to be new by
// their lack of it, so compare `dumps` with `dumps_before`. Open the example with
// ingest fleet load or ingest load.
MATCH (p:Program)-[:HAS_VERSION]->(v:Version {version: $version})
WHERE $program IS NULL OR p.name = $program
MATCH (p)-[:HAS_VERSION]->(e:Version)
WHERE e.position < v.position AND ($before IS NULL OR e.version = $before)
MATCH (e)<-[:OF_VERSION]-(b:FleetDump)
WITH p, v, collect(DISTINCT e) AS earlier, count(b) AS dumps_before
MATCH (v)<-[:OF_VERSION]-(d:FleetDump)
WITH p, earlier, dumps_before, count(d) AS all_dumps, collect(d) AS of_version
UNWIND of_version AS d
MATCH (d)-[l:HAS_LEAK]->(f:Fingerprint)
WITH p, earlier, dumps_before, all_dumps, f, d, l
ORDER BY l.retained_bytes DESC, d.dump_id
WITH p, earlier, dumps_before, all_dumps, f, collect(d.source)[0] AS example,
  count(d) AS dumps, count(DISTINCT d.host) AS hosts,
  percentileDisc(l.retained_bytes, 0.5) AS p50_bytes
WHERE dumps >= $min_share * all_dumps AND NOT EXISTS {
  MATCH (f)<-[:HAS_LEAK]-(:FleetDump)-[:OF_VERSION]->(e:Version)
  WHERE e IN earlier
}
RETURN
  p.name AS program,
  f.leak AS leak,
  dumps,
  round(toFloat(dumps) / all_dumps, 4) AS share,
  hosts,
  p50_bytes,
  dumps_before,
  example,
  f.fingerprint AS fingerprint
ORDER BY dumps DESC, p50_bytes DESC, program, fingerprint
LIMIT $limit
