// name: dump
// title: Summary of the dump
// group: Overview
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: name             STRING   name of the dump, for --dump
// column: format           STRING   name of the reader
// column: runtime          STRING   name of the runtime; null if that is not known
// column: producer         STRING   what wrote it
// column: source           STRING   file name as given
// column: object_count     INTEGER  objects in the dump
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: reachable_count  INTEGER  objects reachable from a root
// column: reachable_bytes  INTEGER  their shallow size, bytes
// column: reference_count  INTEGER  references, without nulls
// column: type_count       INTEGER  types
// column: root_count       INTEGER  roots, including weak ones
// column: weak_root_count  INTEGER  weak roots
// column: missing_count    INTEGER  objects that are referred to but not in the dump
// column: warning_count    INTEGER  irregularities found by the reader
// column: incomplete       STRING   why it is not the whole heap, else null
// column: strength_policy  STRING   which weaker references hold their target: strongest or mat
// column: soft_only_count  INTEGER  reachable objects that nothing stronger than a soft reference holds
// column: soft_only_bytes  INTEGER  their shallow size, bytes
// column: weak_only_count  INTEGER  reachable objects that nothing stronger than a weak reference holds
// column: weak_only_bytes  INTEGER  their shallow size, bytes
// column: external_bytes   INTEGER  memory outside the heap owned by all objects, bytes
// column: metadata_bytes   INTEGER  reachable bytes of the runtime's metadata: classes, code, scripts
// column: smaller_groups     LIST<STRING>  groups of the program's own objects that are no suspects, else null
// column: smaller_addresses  LIST<STRING>  of each of these, address of the object that retains most
// column: folded_count     INTEGER  objects of the runtime itself that were left out
// column: estimated_count  INTEGER  estimated objects of the heap if the dump is a sample, else null
// column: estimated_bytes  INTEGER  their estimated shallow size, bytes, else null
//
// Shallow bytes minus reachable bytes is garbage (see unreachable-types), unless the
// dump is incomplete: what is missing may refer to it. What only
// soft or weak references hold is reachable, until the collector clears them. All roots
// except weak ones are strong, including the finalizer queue. Continue with
// leak-suspects, retained-objects and type-histogram; and with warnings and
// missing-references if their counts are not 0.
MATCH (d:Dump {number: $dump})
RETURN
  d.name AS name,
  d.format AS format,
  d.runtime AS runtime,
  d.producer AS producer,
  d.source AS source,
  d.object_count AS object_count,
  d.shallow_bytes AS shallow_bytes,
  d.reachable_count AS reachable_count,
  d.reachable_bytes AS reachable_bytes,
  d.reference_count AS reference_count,
  d.type_count AS type_count,
  d.root_count AS root_count,
  d.weak_root_count AS weak_root_count,
  d.missing_count AS missing_count,
  d.warning_count AS warning_count,
  d.incomplete AS incomplete,
  d.strength_policy AS strength_policy,
  d.soft_only_count AS soft_only_count,
  d.soft_only_bytes AS soft_only_bytes,
  d.weak_only_count AS weak_only_count,
  d.weak_only_bytes AS weak_only_bytes,
  d.external_bytes AS external_bytes,
  d.metadata_bytes AS metadata_bytes,
  d.smaller_groups AS smaller_groups,
  d.smaller_addresses AS smaller_addresses,
  d.folded_count AS folded_count,
  d.estimated_count AS estimated_count,
  d.estimated_bytes AS estimated_bytes
ORDER BY d.number
LIMIT $limit
