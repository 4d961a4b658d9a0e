//! Paths with named places, such as `/contacts/{email}`. Pure.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything except the unreserved characters of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Fills every `{name}` of a template with the value that `value_of` has for it, percent-encoded. `Err` says in words why
/// the path cannot be built.
pub(crate) fn fill(template: &str, value_of: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut path = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after
            .split_once('}')
            .ok_or_else(|| format!("`{{` without `}}` in the path {template}"))?;
        let value = value_of(name).ok_or_else(|| format!("no value for `{{{name}}}` in the path {template}"))?;
        path.push_str(before);
        path.push_str(&segment(name, &value)?);
        rest = behind;
    }
    if rest.contains('}') {
        return Err(format!("`}}` without `{{` in the path {template}"));
    }
    path.push_str(rest);
    if !path.starts_with('/') {
        return Err(format!("the path {template} does not begin with `/`"));
    }
    Ok(path)
}

/// Values that would change which resource is meant are refused: servers decode `%2f` and resolve dots at different
/// moments, so the host denies such paths, and here is the place where the value can still be named.
fn segment(name: &str, value: &str) -> Result<String, String> {
    if value.is_empty() || value == "." || value == ".." {
        return Err(format!(
            "the value for `{{{name}}}` is {value:?}, which is no path segment"
        ));
    }
    if value.contains(['/', '\\']) || value.chars().any(char::is_control) {
        return Err(format!(
            "the value for `{{{name}}}` holds a slash, backslash or control character"
        ));
    }
    Ok(utf8_percent_encode(value, ENCODED).to_string())
}

#[cfg(test)]
mod tests {
    use super::fill;

    fn one(value: &str) -> Result<String, String> {
        fill("/a/{x}/b", |name| (name == "x").then(|| value.to_owned()))
    }

    #[test]
    fn values_are_encoded_and_the_template_is_not() {
        assert_eq!(one("max@example.com").unwrap(), "/a/max%40example.com/b");
        assert_eq!(one("ü ?#%&=+").unwrap(), "/a/%C3%BC%20%3F%23%25%26%3D%2B/b");
        assert_eq!(one("a-b_c.d~e").unwrap(), "/a/a-b_c.d~e/b");
        assert_eq!(fill("/plain%20text", |_| None).unwrap(), "/plain%20text");
    }

    #[test]
    fn a_value_never_changes_which_path_is_meant() {
        for value in ["", ".", "..", "a/b", "a\\b", "a\nb"] {
            assert!(one(value).unwrap_err().contains("{x}"), "{value:?}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_filled_says_why() {
        for (template, why) in [
            ("/a/{y}", "no value"),
            ("/a/{x", "without"),
            ("/a/x}", "without"),
            ("a", "begin"),
        ] {
            let error = fill(template, |name| (name == "x").then(|| "1".to_owned())).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
