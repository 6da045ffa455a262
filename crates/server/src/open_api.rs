//! The description of the read API, made from its table of operations and the types of its answers.

use serde_json::{Map, Value, json};

use crate::operations::{DoneView, ErrorView, OPERATIONS, WRITE_OPERATIONS};

/// The description: OpenAPI 3.1.
pub fn open_api() -> Value {
    let mut schemas = Map::new();
    let error = reference(
        &mut schemas,
        "Error",
        backsight_report::schema::schema_of::<ErrorView>(),
    );
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let answer = match (operation.schema)() {
            Some(schema) => reference(&mut schemas, operation.id, schema),
            None => json!({ "type": "object" }),
        };
        let parameters = operation.parameters.iter().map(|(name, is_query, about)| {
            json!({
                "name": name,
                "in": if *is_query { "query" } else { "path" },
                "required": !is_query,
                "description": about,
                "schema": { "type": "string" },
            })
        });
        let failed = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": error } } });
        let mut responses = json!({
            "200": {
                "description": "The answer.",
                "content": { "application/json": { "schema": answer } },
            },
            "404": failed("There is no such thing."),
        });
        if !operation.refusal.is_empty() {
            responses["422"] = failed(operation.refusal);
        }
        let get = json!({
            "operationId": operation.id,
            "summary": operation.about,
            "parameters": parameters.collect::<Vec<_>>(),
            "responses": responses,
        });
        paths.insert(format!("/api/v1/{}", operation.path), json!({ "get": get }));
    }
    paths.insert("/api/v1/events".to_owned(), json!({ "get": events() }));
    let done = reference(
        &mut schemas,
        "Done",
        backsight_report::schema::schema_of::<DoneView>(),
    );
    for operation in WRITE_OPERATIONS {
        let asked = reference(&mut schemas, operation.id, (operation.schema)());
        let failed = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": error } } });
        let post = json!({
            "operationId": operation.id,
            "summary": operation.about,
            "description": format!("Wants a token of scope `{}`.", operation.scope),
            "security": [{ "token": [] }],
            "requestBody": { "required": true, "content": { "application/json": { "schema": asked } } },
            "responses": {
                "200": {
                    "description": "It was done.",
                    "content": { "application/json": { "schema": done } },
                },
                "400": failed("The request isn't understood."),
                "401": failed("The token is missing, wrong, revoked or over."),
                "403": failed("The token may not do that, or a page of another site asks."),
                "405": { "description": "The server only reads: it was started without --control." },
                "422": failed("It can't be done."),
            },
        });
        let path = paths.entry(format!("/api/v1/{}", operation.path));
        path.or_insert_with(|| json!({}))["post"] = post;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Backsight",
            "version": "1",
            "description": "What a store of Backsight has. What is written wants the token that `backsight serve --control` prints, or one of the store (`backsight token`). Numbers are in the unit that stands beside them. \
                            `/api/v1/events` says by server-sent events (`edition`) when something was written.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// The stream of news, the one answer that isn't JSON.
fn events() -> Value {
    json!({
        "operationId": "followEvents",
        "summary": "Says when something was written: server-sent events named `edition`, whose data counts the editions of the site.",
        "parameters": [],
        "responses": {
            "200": {
                "description": "A stream that ends with the server.",
                "content": { "text/event-stream": { "schema": { "type": "string" } } },
            },
        },
    })
}

/// Puts a schema and its parts among the others; returns what refers to it.
fn reference(schemas: &mut Map<String, Value>, name: &str, mut schema: Value) -> Value {
    let own = |part: &str| format!("{name}.{part}");
    if let Some(Value::Object(parts)) = schema.as_object_mut().and_then(|it| it.remove("$defs")) {
        for (part, mut schema) in parts {
            point(&mut schema, &own);
            schemas.insert(own(&part), schema);
        }
    }
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    point(&mut schema, &own);
    schemas.insert(name.to_owned(), schema);
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Lets references to parts of a schema lead to where these are now.
fn point(schema: &mut Value, own: &impl Fn(&str) -> String) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if key == "$ref" => {
                        if let Some(part) = text.strip_prefix("#/$defs/") {
                            *text = format!("#/components/schemas/{}", own(part));
                        }
                    }
                    value => point(value, own),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| point(value, own)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths in the first column of the tables below a heading of the guide.
    fn paths_of_guide(heading: &str) -> Vec<&'static str> {
        let guide = include_str!("../../../docs/how-to/serve-a-site.md");
        let (_, section) = guide.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        cells
            .flat_map(|cell| cell.split(',').map(|path| path.trim().trim_matches('`')))
            .collect()
    }

    /// Whether a path is one of the description's, of which it has examples for parameters.
    fn is_described(paths: &Map<String, Value>, path: &str, method: &str) -> bool {
        let found = paths.iter().find(|(described, _)| {
            let (described, path) = (described.split('/'), path.split('/'));
            described.clone().count() == path.clone().count()
                && described
                    .zip(path)
                    .all(|(part, it)| part.starts_with('{') || part == it)
        });
        found.is_some_and(|(_, operations)| operations.get(method).is_some())
    }

    #[test]
    fn everything_in_the_guide_is_described() {
        let description = open_api();
        let paths = description["paths"].as_object().unwrap();
        let asked = paths_of_guide("## Ask it from a program");
        assert_eq!(asked.len(), OPERATIONS.len() + 1, "{asked:?}");
        for path in asked {
            assert!(
                is_described(paths, &format!("/api/v1/{path}"), "get"),
                "{path}"
            );
        }
        let said = paths_of_guide("## Say something from a page");
        assert_eq!(said.len(), WRITE_OPERATIONS.len(), "{said:?}");
        for path in said {
            assert!(is_described(paths, path, "post"), "{path}");
        }
    }
}
