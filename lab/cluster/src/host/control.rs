//! `systemctl` and `systemd-run`, as far as an installation calls them: each asks the machine's first program.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::init::{Request, Response, ask};

/// How long a timer before a restart lasts here at most: it is for etcd to settle, and these machines are quick.
const LONGEST_TIMER: Duration = Duration::from_secs(2);

pub async fn systemctl(args: &[&str]) -> Result<i32> {
    let (verb, rest) = args.split_first().context("systemctl: what?")?;
    let options = |known: &[&str]| match rest.iter().find(|arg| arg.starts_with('-') && !known.contains(arg))
    {
        Some(option) => bail!("the lab's systemctl {verb} does not know {option}"),
        None => Ok(()),
    };
    let units =
        || rest.iter().filter(|arg| !arg.starts_with('-')).map(|unit| service(unit)).collect::<Vec<_>>();
    let state = |unit: &str| Request::State { unit: service(unit) };
    match *verb {
        // Units are read when they are started.
        "daemon-reload" => Ok(0),
        "start" => {
            options(&["--no-block"])?;
            print_response(
                ask(&Request::Start { units: units(), wait: !rest.contains(&"--no-block") }).await?,
            )
        }
        // Nothing starts by itself a second time here.
        "disable" => {
            options(&["--now"])?;
            match rest.contains(&"--now") {
                true => print_response(ask(&Request::Stop { units: units() }).await?),
                false => Ok(0),
            }
        }
        "try-restart" => {
            options(&["--no-block"])?;
            let mut running = Vec::new();
            for unit in units() {
                if ask(&state(&unit)).await?.code == 0 {
                    running.push(unit);
                }
            }
            print_response(ask(&Request::Restart { units: running }).await?)
        }
        "restart" => print_response(ask(&Request::Restart { units: units() }).await?),
        "reboot" => {
            options(&[])?;
            print_response(ask(&Request::Reboot { after: Duration::ZERO }).await?)
        }
        "stop" => print_response(ask(&Request::Stop { units: units() }).await?),
        "is-active" => {
            options(&["--quiet"])?;
            let unit = units().pop().context("is-active: which unit?")?;
            let answer = ask(&state(&unit)).await?;
            if !rest.contains(&"--quiet") {
                writeln!(std::io::stdout(), "{}", answer.text)?;
            }
            Ok(answer.code)
        }
        "show" => match rest {
            ["-P", "ActiveState", unit] => print_response(Response { code: 0, ..ask(&state(unit)).await? }),
            _ => bail!("the lab's systemctl shows the ActiveState of a unit alone"),
        },
        "status" => {
            options(&["--no-pager"])?;
            print_response(ask(&state(units().first().context("status: which unit?")?)).await?)
        }
        "list-units" => {
            options(&["--all", "--no-legend"])?;
            let answer = ask(&Request::List).await?;
            let wanted: Vec<_> = rest.iter().filter(|arg| !arg.starts_with('-')).collect();
            let is_wanted =
                |line: &&str| wanted.is_empty() || wanted.iter().any(|unit| line.starts_with(**unit));
            let text: Vec<_> = answer.text.lines().filter(is_wanted).collect();
            print_response(Response { code: 0, text: text.join("\n") })
        }
        _ => bail!("the lab's systemctl does not know {verb}"),
    }
}

fn service(unit: &str) -> String {
    if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") }
}

/// Prints a response: an answer on standard output, a complaint on standard error; the exit code.
fn print_response(Response { code, text }: Response) -> Result<i32> {
    match (code, text.is_empty()) {
        (_, true) => {}
        (0, false) => writeln!(std::io::stdout(), "{text}")?,
        (_, false) => writeln!(std::io::stderr(), "{text}")?,
    }
    Ok(code)
}

pub async fn systemd_run(args: &[&str]) -> Result<i32> {
    let (mut unit, mut wait, mut timer, mut properties) = (None, false, None, Vec::new());
    let mut rest = args.iter();
    let words: Vec<_> = loop {
        let arg = rest.next().context("systemd-run: which program?")?;
        match arg.split_once('=') {
            Some(("--unit", name)) => unit = Some(service(name)),
            Some(("--on-active", after)) => timer = Some(seconds(after)?),
            Some(("--timer-property", _)) => {}
            Some(("--property", property)) => {
                let (name, value) = property.split_once('=').context("a property without a value")?;
                properties.push((name.to_owned(), value.to_owned()));
            }
            None if *arg == "--" => break rest.map(|word| (*word).to_owned()).collect(),
            None if *arg == "--wait" => wait = true,
            None if matches!(*arg, "--collect" | "--quiet") => {}
            _ => bail!("the lab's systemd-run does not know {arg}"),
        }
    };
    if let Some(after) = timer {
        let restart = ["shutdown", "-r", "now"];
        if !words.iter().take(restart.len()).eq(restart.iter()) {
            bail!("the lab's systemd-run has a timer for a restart alone, not for {}", words.join(" "));
        }
        return print_response(ask(&Request::Reboot { after: after.min(LONGEST_TIMER) }).await?);
    }
    let unit = unit.context("the lab's systemd-run wants a name for the unit")?;
    print_response(ask(&Request::Run { unit, properties, words, wait }).await?)
}

/// A time as the installer gives it to systemd: `8s`.
fn seconds(text: &str) -> Result<Duration> {
    let seconds = text.strip_suffix('s').and_then(|seconds| seconds.parse().ok());
    Ok(Duration::from_secs(
        seconds.with_context(|| format!("the lab's systemd-run reads seconds, not {text}"))?,
    ))
}
