// name: gone-suspects
// title: Leak suspects of an earlier dump that this one does not have
// group: Comparison
// needs: fingerprints, earlier
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null for the previous one of the program
// param: limit    INTEGER = 20   maximum number of rows
// column: type            STRING   full name of the type that accumulates
// column: object_count    INTEGER  objects of that type in the earlier dump
// column: retained_bytes  INTEGER  what they retain together, bytes
// column: share           FLOAT    share of the reachable bytes, 0 to 1
// column: cut             STRING   the reference to remove
// column: sentence        STRING   the suspect in a sentence
// column: fingerprint     STRING   of the suspect, the same in all dumps
// column: earlier         STRING   name of the earlier dump
//
// Whether a leak is mended: its suspect is gone. A suspect is the same one if the same
// type accumulates behind the same reference of the same holder. One that is gone may
// still be there as a smaller pile, or stand out less because others grew: see
// compare-paths and compare-types. See new-suspects for those that came.
MATCH (d:Dump {number: $dump})
MATCH (e:Dump {state: 'ready'})
WHERE CASE WHEN $earlier IS NULL THEN EXISTS { (e)-[:NEXT]->(d) } ELSE e.name = $earlier END
  AND EXISTS {
    MATCH (n:TypePath {key: d.number * 1099511627776}), (o:TypePath {key: e.number * 1099511627776})
    WHERE n.fingerprint = o.fingerprint
  }
MATCH (e)-[:HAS_SUSPECT]->(s:Suspect)-[:OF_TYPE]->(t:Type)
WHERE NOT EXISTS { MATCH (d)-[:HAS_SUSPECT]->(o:Suspect) WHERE o.fingerprint = s.fingerprint }
RETURN
  t.name AS type,
  s.object_count AS object_count,
  s.retained_bytes AS retained_bytes,
  s.share AS share,
  s.cut AS cut,
  s.sentence AS sentence,
  s.fingerprint AS fingerprint,
  e.name AS earlier
ORDER BY retained_bytes DESC, fingerprint
LIMIT $limit
