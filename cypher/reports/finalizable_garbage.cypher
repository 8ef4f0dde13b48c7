// name: finalizable-garbage
// title: Objects with __del__ that wait for the collector
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: object_count    INTEGER  unreachable instances
// column: shallow_bytes   INTEGER  their shallow size, bytes
// column: sample_address  STRING   address of the first one
//
// Nothing of the program refers to these objects, but they refer to one another, so that
// only the collector frees them; then it calls their method `__del__`, which their class
// or one of its bases has. Many mean that files, sockets or locks are closed late: close
// them with a with statement, or break the cycle with a weak reference.
MATCH (t:Type)<-[:INSTANCE_OF]-(o:Object)
WHERE t.dump = $dump AND o.root_distance IS NULL AND NOT coalesce(o.missing, false)
  AND EXISTS {
    MATCH (o)-[:REFERENCES]->(:Object)-[rm:REFERENCES]->(:Object)-[:REFERENCES]->(:Object)
      -[rd:REFERENCES]->(:Object)
    WHERE rm.field = '__mro__' AND rd.field = '__del__'
  }
WITH t, o
ORDER BY o.key
WITH t, count(o) AS object_count, sum(o.shallow_bytes) AS shallow_bytes,
  collect(o.address)[0] AS sample_address
RETURN
  t.name AS type,
  object_count,
  shallow_bytes,
  sample_address
ORDER BY object_count DESC, shallow_bytes DESC, t.key
LIMIT $limit
