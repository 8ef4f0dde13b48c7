// name: fleet-leaks-by-host
// title: Leaks of a fleet by host
// group: Fleet
// needs: fleet
// mode: read
// param: program      STRING  = null  only dumps of this program
// param: fingerprint  STRING  = null  only this leak
// param: limit        INTEGER = 20    maximum number of rows
// column: host         STRING   the host
// column: program      STRING   the program
// column: leak         STRING   what accumulates where
// column: dumps        INTEGER  dumps of the program on the host that have it
// column: share        FLOAT    share of the program's dumps on the host, 0 to 1
// column: max_bytes    INTEGER  what it retains in the worst of them, bytes
// column: fingerprint  STRING   equal for the same leak in all dumps
//
// A leak on a few hosts only is a matter of what runs there: load, configuration, data.
// One that all hosts have with the same share is a matter of the program. Give the
// fingerprint of a row of fleet-leaks to see one leak on all hosts.
MATCH (h:Host)<-[:ON_HOST]-(d:FleetDump)-[:OF_PROGRAM]->(p:Program)
WHERE $program IS NULL OR p.name = $program
WITH h, p, count(d) AS all_dumps, collect(d) AS on_host
UNWIND on_host AS d
MATCH (d)-[l:HAS_LEAK]->(f:Fingerprint)
WHERE $fingerprint IS NULL OR f.fingerprint = $fingerprint
WITH h, p, all_dumps, f, count(d) AS dumps, max(l.retained_bytes) AS max_bytes
RETURN
  h.name AS host,
  p.name AS program,
  f.leak AS leak,
  dumps,
  round(toFloat(dumps) / all_dumps, 4) AS share,
  max_bytes,
  f.fingerprint AS fingerprint
ORDER BY dumps DESC, max_bytes DESC, host, program, fingerprint
LIMIT $limit
