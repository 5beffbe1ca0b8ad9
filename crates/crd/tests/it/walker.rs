//! A deserializer that is fed by a schema instead of by data. A type that is read from it tells the fields that it has and the
//! types that it takes, and each is compared with the schema: those of Kubernetes' own types as well, which have no other way
//! to be asked.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

/// What differs.
#[derive(Debug, Default)]
pub struct Findings {
    list: RefCell<BTreeSet<String>>,
    /// Whether published fields that a type has not are found, too.
    pub whole: bool,
    /// Whether texts with listed values have to be enumerations.
    pub enumerations: bool,
}

impl Findings {
    pub fn new(whole: bool, enumerations: bool) -> Self {
        Self { list: RefCell::default(), whole, enumerations }
    }

    pub fn add(&self, place: &str, what: &str) {
        self.list.borrow_mut().insert(format!("{place}: {what}"));
    }

    pub fn take(self) -> BTreeSet<String> {
        self.list.into_inner()
    }
}

/// A place in a schema.
#[derive(Clone)]
pub struct Walker<'a> {
    schema: &'a Value,
    place: String,
    /// Whether the place is inside of a list: its entries are replaced as a whole, so nothing of them may be missing.
    in_list: bool,
    findings: &'a Findings,
}

impl<'a> Walker<'a> {
    pub fn new(schema: &'a Value, findings: &'a Findings) -> Self {
        Self { schema, place: String::new(), in_list: false, findings }
    }

    fn at(&self, schema: &'a Value, step: &str) -> Self {
        Self {
            schema,
            place: format!("{}{step}", self.place),
            in_list: self.in_list || step == "[]",
            findings: self.findings,
        }
    }

    fn add(&self, what: &str) {
        self.findings.add(&self.place, what);
    }

    /// Finds a type that is not the published one.
    fn expect(&self, kind: &str, format: Option<&str>) {
        let published = self.schema["type"].as_str();
        if published != Some(kind) {
            self.add(&format!("{kind} is published as {published:?}"));
        } else if kind == "integer"
            && format.is_some_and(|format| self.schema["format"] != format)
            && !self.schema["format"].is_null()
        {
            self.add(&format!("{format:?} is published as {}", self.schema["format"]));
        }
    }

    fn text(&self) -> String {
        self.expect("string", None);
        match self.schema["enum"].as_array() {
            Some(values) => {
                if self.findings.enumerations {
                    self.add("a text is published with a list of values");
                }
                values[0].as_str().unwrap_or_default().to_owned()
            }
            None if self.schema["format"] == "date-time" => "2024-05-06T07:08:09Z".to_owned(),
            None => "text".to_owned(),
        }
    }
}

/// The fields of an object, one after the other.
struct Fields<'a> {
    walker: Walker<'a>,
    names: std::vec::IntoIter<&'static str>,
    next: Option<Walker<'a>>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        for name in self.names.by_ref() {
            let property = &self.walker.schema["properties"][name];
            if property.is_object() {
                self.next = Some(self.walker.at(property, &format!(".{name}")));
                let key: StrDeserializer<'_, Error> = name.into_deserializer();
                return seed.deserialize(key).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let walker = self.next.take().ok_or_else(|| Error::custom("a value without a key"))?;
        let place = walker.place.clone();
        seed.deserialize(walker).map_err(|error| Error::custom(format!("{place}: {error}")))
    }
}

/// One entry of a map or of a list.
struct One<'a>(Option<Walker<'a>>);

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.0.is_none() {
            return Ok(None);
        }
        let key: StrDeserializer<'_, Error> = "key".into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.0.take().ok_or_else(|| Error::custom("a value without a key"))?)
    }
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.take().map(|walker| seed.deserialize(walker)).transpose()
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $kind:literal $format:expr, $value:expr;)+) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                self.expect($kind, $format);
                visitor.$visit($value)
            }
        )+
    };
}

impl<'de> Deserializer<'de> for Walker<'_> {
    type Error = Error;

    /// Whatever the type takes: the schema has to be as open.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.schema["x-kubernetes-int-or-string"] == true {
            return visitor.visit_str("1");
        }
        if self.schema["x-kubernetes-preserve-unknown-fields"] != true {
            self.add("anything is taken");
        }
        visitor.visit_map(One(None))
    }

    numbers! {
        deserialize_bool visit_bool "boolean" None, true;
        deserialize_i32 visit_i32 "integer" Some("int32"), 1;
        deserialize_i64 visit_i64 "integer" Some("int64"), 1;
        deserialize_f64 visit_f64 "number" None, 1.5;
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.expect("array", None);
        let items = self.at(&self.schema["items"], "[]");
        visitor.visit_seq(One(Some(items)))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.expect("object", None);
        let values = &self.schema["additionalProperties"];
        if !values.is_object() {
            self.add("a map is published with fields");
            return visitor.visit_map(One(None));
        }
        let walker = self.at(values, ".*");
        visitor.visit_map(One(Some(walker)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.expect("object", None);
        let is_root = self.place.is_empty();
        // Metadata are the same for all kinds, and no definition has them.
        let names: Vec<_> = fields.iter().copied().filter(|name| !is_root || *name != "metadata").collect();
        self.compare(&names);
        visitor.visit_map(Fields { names: names.into_iter(), walker: self, next: None })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.expect("string", None);
        let published = self.schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let (published, ours): (BTreeSet<_>, BTreeSet<_>) =
            (published.collect(), variants.iter().copied().collect());
        if published != ours {
            self.add(&format!("{ours:?} are published as {published:?}"));
        }
        visitor.visit_enum(Variant(variants[0]))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str("key")
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct
    }
}

impl Walker<'_> {
    /// Finds fields that only one side has.
    fn compare(&self, fields: &[&str]) {
        let is_root = self.place.is_empty();
        for name in fields {
            if !self.schema["properties"][name].is_object() {
                self.add(&format!("{name} is not published"));
            }
        }
        if !self.findings.whole && !self.in_list {
            return;
        }
        for (name, property) in self.schema["properties"].as_object().into_iter().flatten() {
            let of_every_object = is_root && ["apiVersion", "kind", "metadata"].contains(&name.as_str());
            // A status without fields says nothing.
            let says_nothing = is_root && property["properties"].is_null();
            if !fields.contains(&name.as_str()) && !of_every_object && !says_nothing {
                self.add(&format!("{name} is missing"));
            }
        }
    }
}

/// A value of an enumeration.
struct Variant(&'static str);

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Unit;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Unit), Error> {
        let name: StrDeserializer<'_, Error> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, Unit))
    }
}

/// What a value of an enumeration holds: nothing.
struct Unit;

impl<'de> serde::de::VariantAccess<'de> for Unit {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Error> {
        Err(Error::custom("an enumeration's value holds something"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("an enumeration's value holds something"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Error> {
        Err(Error::custom("an enumeration's value holds something"))
    }
}
