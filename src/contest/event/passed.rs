//! What of an object passes through unread: fields that standings do not need and that a public API may show (RULES, "The CLICS
//! feed": what is public is a whitelist of fields for each type). A value of another form than CLICS' is left out, for tools
//! that read it would stumble.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Kind, TEXT_MAX};

/// The fields of an object that pass through; `None` if it has none.
pub type Passed = Option<Arc<Map<String, Value>>>;

/// The form that a field has in CLICS.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Count,
    Number,
    Texts,
    /// Three capital letters.
    Country,
    Uuid,
    /// An object of numbers, these.
    Numbers(&'static [&'static str]),
}

const EARTH: Form = Form::Numbers(&["latitude", "longitude"]);
const FLOOR: Form = Form::Numbers(&["x", "y", "rotation"]);

/// The fields of each type, besides those that the object itself holds.
fn fields(kind: Kind) -> &'static [(&'static str, Form)] {
    match kind {
        Kind::JudgementTypes => &[("name", Form::Text)],
        Kind::Languages => &[
            ("name", Form::Text),
            ("entry_point_required", Form::Flag),
            ("entry_point_name", Form::Text),
            ("extensions", Form::Texts),
        ],
        Kind::Groups => &[
            ("icpc_id", Form::Text),
            ("type", Form::Text),
            ("location", EARTH),
        ],
        Kind::Organizations => &[
            ("icpc_id", Form::Text),
            ("formal_name", Form::Text),
            ("country", Form::Country),
            ("url", Form::Text),
            ("twitter_hashtag", Form::Text),
            ("twitter_account", Form::Text),
            ("location", EARTH),
        ],
        Kind::Teams => &[
            ("icpc_id", Form::Text),
            ("label", Form::Text),
            // Beside a display name, which is the one that people read.
            ("name", Form::Text),
            ("display_name", Form::Text),
            ("location", FLOOR),
        ],
        Kind::Problems => &[
            ("uuid", Form::Uuid),
            ("time_limit", Form::Number),
            ("test_data_count", Form::Count),
            ("max_score", Form::Number),
        ],
        _ => &[],
    }
}

/// What of an object passes.
pub(super) fn passed(kind: Kind, object: &Map<String, Value>) -> Passed {
    let known = fields(kind).iter().filter_map(|(name, form)| {
        let value = object.get(*name).filter(|value| form.is(value))?;
        Some(((*name).to_owned(), value.clone()))
    });
    let known: Map<String, Value> = known.collect();
    (!known.is_empty()).then(|| Arc::new(known))
}

impl Form {
    fn is(self, value: &Value) -> bool {
        let text = |value: &Value| value.as_str().is_some_and(|text| text.len() <= TEXT_MAX);
        match self {
            Self::Text => text(value),
            Self::Flag => value.is_boolean(),
            Self::Count => value.is_u64(),
            Self::Number => value.as_f64().is_some_and(|number| number >= 0.0),
            Self::Texts => value
                .as_array()
                .is_some_and(|items| items.len() <= 100 && items.iter().all(text)),
            Self::Country => value.as_str().is_some_and(|text| {
                text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
            }),
            Self::Uuid => value.as_str().is_some_and(|text| {
                let parts: Vec<&str> = text.split('-').collect();
                parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
                    && text
                        .bytes()
                        .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
            }),
            Self::Numbers(names) => value.as_object().is_some_and(|object| {
                object.len() == names.len()
                    && names
                        .iter()
                        .all(|name| object.get(*name).is_some_and(Value::is_number))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: Kind, object: &Value) -> Value {
        let object = object.as_object().expect("an object");
        passed(kind, object).map_or(Value::Null, |passed| Value::Object(passed.as_ref().clone()))
    }

    #[test]
    fn what_is_not_on_the_list_does_not_pass() {
        let team = json!({
            "id": "t", "icpc_id": "77", "label": "12", "ip": "10.0.0.1", "backup": [], "key_log": [], "tool_data": [],
            "webcam": [{ "href": "x" }], "desktop": [], "location": { "x": 1, "y": 2.5, "rotation": 90 },
        });
        assert_eq!(
            of(Kind::Teams, &team),
            json!({ "icpc_id": "77", "label": "12", "location": { "x": 1, "y": 2.5, "rotation": 90 } })
        );
        assert_eq!(
            of(Kind::Submissions, &json!({ "files": [], "reaction": [] })),
            Value::Null
        );
    }

    #[test]
    fn a_value_of_another_form_does_not_pass() {
        let organization = json!({
            "country": "Norway", "icpc_id": 7, "url": null, "location": { "latitude": 1 }, "formal_name": "F",
        });
        assert_eq!(
            of(Kind::Organizations, &organization),
            json!({ "formal_name": "F" })
        );
        let problem = json!({ "uuid": "not one", "time_limit": -1, "test_data_count": "many", "max_score": 100 });
        assert_eq!(of(Kind::Problems, &problem), json!({ "max_score": 100 }));
    }
}
