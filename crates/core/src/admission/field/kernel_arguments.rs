//! Kernel arguments of a discovery image.

use assisted_wire::embedded;
use assisted_wire::infra_env::{KernelArgumentOperation, KernelArguments};

use super::Problem;

/// Checks arguments: they can only be appended.
pub fn check(arguments: &KernelArguments) -> Result<(), Problem> {
    for argument in &arguments.0 {
        let operation = argument.operation.map_or("", KernelArgumentOperation::as_str);
        if operation != KernelArgumentOperation::Append.as_str() {
            return Err(format!("Only kernel argument operation append is supported.  Got {operation}"));
        }
    }
    Ok(())
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
}
