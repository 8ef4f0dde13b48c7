// name: dump
// title: The dump in numbers
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: name             STRING   what --dump takes
// column: format           STRING   name of the reader
// column: producer         STRING   what wrote it
// column: source           STRING   file name as it was given
// column: object_count     INTEGER  objects in the dump
// column: shallow_bytes    INTEGER  bytes of all objects
// column: reachable_count  INTEGER  objects that a strong root reaches
// column: reachable_bytes  INTEGER  bytes of those
// column: reference_count  INTEGER  references, nulls left out
// column: type_count       INTEGER  types
// column: root_count       INTEGER  roots, weak ones included
// column: weak_root_count  INTEGER  roots that keep nothing alive
// column: missing_count    INTEGER  objects that are referred to but not in the dump
// column: warning_count    INTEGER  irregularities that the reader met
// column: weak_only_count  INTEGER  objects that nothing but weak references still sees
// column: weak_only_bytes  INTEGER  bytes of those
// column: external_bytes   INTEGER  memory outside the heap of all objects
// column: folded_count     INTEGER  objects left out: the runtime's own
// column: estimated_count  INTEGER  objects of the heap, if the dump is a sample; else null
// column: estimated_bytes  INTEGER  bytes of those; else null
//
// Bytes less reachable bytes is garbage (ask: unreachable-types). Weak roots keep
// nothing alive, all others do, the finalizer queue included. Go on with
// leak-suspects, retained-objects and type-histogram; with warnings and
// missing-references if their counts are not 0.
MATCH (d:Dump {number: $dump})
RETURN
  d.name AS name,
  d.format AS format,
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
  d.weak_only_count AS weak_only_count,
  d.weak_only_bytes AS weak_only_bytes,
  d.external_bytes AS external_bytes,
  d.folded_count AS folded_count,
  d.estimated_count AS estimated_count,
  d.estimated_bytes AS estimated_bytes
ORDER BY d.number
LIMIT $limit
