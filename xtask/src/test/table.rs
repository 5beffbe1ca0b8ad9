//! The table of what took how long, at the end of a test run.

use std::time::Duration;

use super::stage::{End, Ended, minutes};

/// What takes less than this has no line of its own unless it failed.
const SHORT: Duration = Duration::from_secs(5);

/// Stages in the order in which they began, with minutes since the beginning and minutes that they took; what they took together,
/// and how busy the machine was.
pub fn table(stages: &[Ended], whole: Duration, workers: usize, busy: Option<u64>) -> String {
    let mut text = format!("{:>8} {:>8}  stage\n", "began", "minutes");
    let (mut short, mut sum) = (0, Duration::ZERO);
    for stage in stages {
        let how = match &stage.end {
            End::Done if stage.took < SHORT => {
                short += 1;
                sum += stage.took;
                continue;
            }
            End::Done => String::new(),
            End::Failed(why) => format!("  FAILED: {why}"),
            End::NotRun(why) => format!("  NOT RUN: {why}"),
        };
        let (began, took) = (minutes(stage.began), minutes(stage.took));
        text.push_str(&format!("{began:>8} {took:>8}  {}{how}\n", stage.name));
    }
    let dash = "";
    text.push_str(&format!("{dash:>8} {:>8}  {short} shorter ones\n", minutes(sum)));
    text.push_str(&format!("{dash:>8} {:>8}  all together, {workers} at a time", minutes(whole)));
    if let Some(busy) = busy {
        text.push_str(&format!("; processors were busy for {busy} % of it"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_stages_share_a_line_and_failures_are_told() {
        let stage = |name: &str, seconds, end| Ended {
            name: name.to_owned(),
            began: Duration::from_secs(30),
            took: Duration::from_secs(seconds),
            end,
        };
        let stages = [
            stage("programs", 90, End::Done),
            stage("quick", 2, End::Done),
            stage("quicker", 4, End::Done),
            stage("lint", 1, End::Failed("it says no".into())),
            stage("last", 0, End::NotRun("it needs lint".into())),
        ];
        let text = table(&stages, Duration::from_secs(120), 3, Some(81));
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "began  minutes  stage",
                "0.5      1.5  programs",
                "0.5      0.0  lint  FAILED: it says no",
                "0.5      0.0  last  NOT RUN: it needs lint",
                "0.1  2 shorter ones",
                "2.0  all together, 3 at a time; processors were busy for 81 % of it",
            ]
        );
    }
}
