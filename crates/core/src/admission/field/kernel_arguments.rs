//! Kernel arguments of a discovery image.

use assisted_wire::embedded;
use assisted_wire::infra_env::{KernelArgumentOperation, KernelArguments};

use super::Invalidity;

/// Checks arguments: they can only be appended, and each is one word of one line. The contract's pattern lets line ends and
/// what separates commands through, by which an iPXE script would get lines of their author.
pub fn check(arguments: &KernelArguments) -> Result<(), Invalidity> {
    for argument in &arguments.0 {
        let operation = argument.operation.map_or("", KernelArgumentOperation::as_str);
        if operation != KernelArgumentOperation::Append.as_str() {
            return Err(format!("Only kernel argument operation append is supported.  Got {operation}"));
        }
        if !is_harmless(&argument.value) {
            return Err(format!(
                "Kernel argument {:?} holds a control character, or is a separator of commands",
                argument.value
            ));
        }
    }
    Ok(())
}

/// Whether an argument can stand in a line of an iPXE script without ending the line or the command.
pub fn is_harmless(value: &str) -> bool {
    !value.chars().any(char::is_control) && !matches!(value, "&&" | "||")
}

/// The text that is kept; `None` for no arguments.
pub fn stored(arguments: &KernelArguments) -> Option<String> {
    if arguments.0.is_empty() { None } else { embedded::write(arguments).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assisted_wire::infra_env::KernelArgument;

    #[test]
    fn only_appended() {
        let arguments =
            |operation| KernelArguments(vec![KernelArgument { operation, value: "p1".to_owned() }]);
        let append = arguments(Some(KernelArgumentOperation::Append));
        assert_eq!(check(&append), Ok(()));
        assert_eq!(stored(&append).as_deref(), Some(r#"[{"operation":"append","value":"p1"}]"#));
        assert_eq!(stored(&KernelArguments::default()), None);
        assert_eq!(
            check(&arguments(Some(KernelArgumentOperation::Replace))),
            Err("Only kernel argument operation append is supported.  Got replace".to_owned())
        );
        assert_eq!(
            check(&arguments(None)),
            Err("Only kernel argument operation append is supported.  Got ".to_owned())
        );
    }

    #[test]
    fn one_word_of_one_line() {
        let check = |value: &str| {
            let operation = Some(KernelArgumentOperation::Append);
            check(&KernelArguments(vec![KernelArgument { operation, value: value.to_owned() }]))
        };
        for value in ["a", "a=\"b c\"", "a&&b", "console=ttyS0,115200n8", "x=${y}"] {
            assert_eq!(check(value), Ok(()), "{value}");
        }
        for value in ["a=\"\nchain http://x/y\n\"", "a=\"\r\"", "\u{85}", "\0", "&&", "||"] {
            assert!(check(value).unwrap_err().contains("Kernel argument"), "{value}");
        }
    }
}
