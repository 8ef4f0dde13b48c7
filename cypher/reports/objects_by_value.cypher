// name: objects-by-value
// title: Objects of a type by the value of one of their fields
// group: Types
// needs: values
// mode: read
// searched: values of $field that the dump records; ingest info notes what it does not
// param: dump   INTEGER        number of the dump
// param: type   STRING         full type name, as the runtime spells it
// param: field  STRING         name of the field; see the schema for names other than of letters, digits and _
// param: value  STRING = null  its value: a number, true, false, a character or the name of a constant; null for any
// param: min    FLOAT = null   smallest number; null for no limit
// param: max    FLOAT = null   largest number; null for no limit
// param: limit  INTEGER = 20   maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: address         STRING   hexadecimal, as a debugger prints it
// column: value           ANY      value of the field; null for infinity and what is no number
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: root_distance   INTEGER  references from the nearest root; null if unreachable
//
// Objects have values of fields only if the dump was loaded, or is opened, with
// --values and a pattern for their type. An object without the field, or with null in
// it, is left out. In your own Cypher: WHERE o.field_status = 3. Continue with
// shortest-root-path for an address.
MATCH (:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o:Object)
WITH o, o['field_' + $field] AS value
WHERE value IS NOT NULL
  AND ($min IS NULL OR value >= $min)
  AND ($max IS NULL OR value <= $max)
  AND ($value IS NULL OR CASE
    WHEN value IS :: FLOAT THEN value = toFloatOrNull($value)
    ELSE toString(value) = $value
  END)
RETURN
  o.domain AS domain,
  o.address AS address,
  value,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.root_distance AS root_distance
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
