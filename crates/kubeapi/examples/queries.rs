//! Answers queries of AgentClassifications by lines, as `assisted answer-queries` does.

fn main() -> std::io::Result<()> {
    assisted_kubeapi::classification::serve(std::io::BufReader::new(std::io::stdin()), std::io::stdout())
}
