// name: unreachable-types
// title: Garbage by type: objects that no root reaches
// group: Types
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type               STRING   full type name
// column: domain             INTEGER  ordinal of the domain that declares the type
// column: unreachable_count  INTEGER  unreachable instances
// column: unreachable_bytes  INTEGER  their shallow size, bytes
// column: instance_count     INTEGER  all instances
//
// What the next full collection will free. It counts towards the size of the dump
// and is no leak. Much garbage of one type means that it is allocated and dropped at
// a high rate, or that the dump was written without a collection before it.
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
