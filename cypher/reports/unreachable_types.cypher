// name: unreachable-types
// title: Garbage by type: what no strong root reaches
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type               STRING   full name
// column: domain             INTEGER  ordinal of the domain that declares it
// column: unreachable_count  INTEGER  instances that no strong root reaches
// column: unreachable_bytes  INTEGER  bytes of those
// column: instance_count     INTEGER  all instances
//
// What the next full collection takes. It counts towards the size of the dump and is
// no leak. Much garbage of one type means that it is made and dropped at a high
// rate, or that the dump was written without a collection before it.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > t.reachable_count
RETURN
  t.name AS type,
  t.domain AS domain,
  t.instance_count - t.reachable_count AS unreachable_count,
  t.shallow_bytes - t.reachable_bytes AS unreachable_bytes,
  t.instance_count AS instance_count
ORDER BY unreachable_bytes DESC, unreachable_count DESC, t.key
LIMIT $limit
