// name: type-totals
// title: All instances of a type, summed
// group: Types
// mode: read
// param: dump   INTEGER        number of the dump
// param: type   STRING         full type name, as the runtime spells it
// param: limit  INTEGER = 100  maximum number of rows
// column: domain           INTEGER  ordinal of the domain that declares the type
// column: instance_count   INTEGER  instances in the dump
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: reachable_count  INTEGER  instances that a root reaches
// column: reachable_bytes  INTEGER  their shallow size, bytes
// column: retained_bytes   INTEGER  freed if all instances of the type are freed, bytes
// column: share            FLOAT    of the reachable bytes of the dump: retained_bytes, 0 to 1
//
// One row for each domain that declares the type. Nothing counts twice in
// retained_bytes, even if instances retain one another. Continue with
// instances-by-root-path.
MATCH (d:Dump {number: $dump})
MATCH (t:Type)
WHERE t.dump = $dump AND t.name = $type
RETURN
  t.domain AS domain,
  t.instance_count AS instance_count,
  t.shallow_bytes AS shallow_bytes,
  t.reachable_count AS reachable_count,
  t.reachable_bytes AS reachable_bytes,
  t.retained_bytes AS retained_bytes,
  CASE d.reachable_bytes
    WHEN 0 THEN 0.0
    ELSE 1.0 * t.retained_bytes / d.reachable_bytes
  END AS share
ORDER BY retained_bytes DESC, t.key
LIMIT $limit
