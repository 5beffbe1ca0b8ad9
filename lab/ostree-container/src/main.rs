//! `ostree` hands what begins with `container` on to this program, word by word; all the rest is the library's.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    ostree_ext::cli::run_from_iter(std::env::args_os()).await
}
