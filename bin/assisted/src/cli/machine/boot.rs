//! `assisted machine boot`: an image in the virtual drive, booted once.

use assisted_console::Failure;
use clap::Args;

use super::rack::Rack;
use super::{Names, each};
use crate::cli::common::Context;

#[derive(Args, Debug)]
pub struct Boot {
    #[command(flatten)]
    machines: Names,
    /// Infra-env whose discovery image to boot (id, beginning of an id, or name)
    #[arg(long, required_unless_present = "image", conflicts_with = "image")]
    infra_env: Option<String>,
    /// Address of any other image; the controller fetches it from there
    #[arg(long, value_name = "URL")]
    image: Option<String>,
}

impl Boot {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let known = self.machines.of(&Rack::of_user()?)?;
        let image = match (self.image, self.infra_env) {
            (Some(image), _) => image,
            (None, Some(meant)) => {
                let id = context.infra_env(&meant).await?.id;
                context.client.infra_env_image_url(id).await?.url
            }
            (None, None) => return Err(Failure::Usage("give --infra-env or --image".to_owned())),
        };
        if url::Url::parse(&image).is_err() {
            return Err(Failure::Usage(format!("{image:?} is no address of an image")));
        }
        each(context, known, move |machine| {
            let image = image.clone();
            async move {
                machine.boot_medium(&image).await.map_err(Failure::refused)?;
                Ok("boots the image; its disk comes first again after this".to_owned())
            }
        })
        .await
    }
}
