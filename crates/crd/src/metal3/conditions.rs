//! What the conditions of a PreprovisioningImage say: type, status, reason, message (kube-api §6.7). What its InfraEnv says
//! about the image is copied besides.

/// Conditions of a PreprovisioningImage.
pub mod preprovisioning_image {
    use crate::condition::outcomes;

    outcomes! {
        READY_UNSUPPORTED_IMAGE_FORMAT = "Ready" False "UnsupportedImageFormat" "Unsupported image format";
        ERROR_UNSUPPORTED_IMAGE_FORMAT = "Error" True "UnsupportedImageFormat" "Unsupported image format";
        READY_INFRA_ENV_NOT_AVAILABLE = "Ready" False "InfraEnvNotAvailable" "InfraEnv {}/{} is not found or is being deleted";
        ERROR_INFRA_ENV_NOT_AVAILABLE = "Error" False "InfraEnvNotAvailable" "InfraEnv {}/{} is not found or is being deleted";
        READY_INFRA_ENV_ARCH_MISMATCH = "Ready" False "InfraEnvArchMismatch" "PreprovisioningImage CPU architecture ({}) does not match InfraEnv CPU architecture ({})";
        ERROR_INFRA_ENV_ARCH_MISMATCH = "Error" True "InfraEnvArchMismatch" "PreprovisioningImage CPU architecture ({}) does not match InfraEnv CPU architecture ({})";
        READY_IRONIC_AGENT_IGNITION_UPDATE_FAILURE = "Ready" False "IronicAgentIgnitionUpdateFailure" "Could not add ironic agent to image: {}";
        ERROR_IRONIC_AGENT_IGNITION_UPDATE_FAILURE = "Error" True "IronicAgentIgnitionUpdateFailure" "Could not add ironic agent to image: {}";
        READY_WAITING_FOR_INFRA_ENV_IMAGE_TO_BE_CREATED = "Ready" False "WaitingForInfraEnvImageToBeCreated" "Waiting for InfraEnv image to be created";
        ERROR_WAITING_FOR_INFRA_ENV_IMAGE_TO_BE_CREATED = "Error" False "WaitingForInfraEnvImageToBeCreated" "Waiting for InfraEnv image to be created";
        READY_WAITING_FOR_INFRA_ENV_IMAGE_TO_COOL_DOWN = "Ready" False "WaitingForInfraEnvImageToCoolDown" "Waiting for InfraEnv image to cool down";
        ERROR_WAITING_FOR_INFRA_ENV_IMAGE_TO_COOL_DOWN = "Error" False "WaitingForInfraEnvImageToCoolDown" "Waiting for InfraEnv image to cool down";
    }
}

/// The conditions of an image whose network somebody else describes: an addition, since published reasons have none for it. Elsewhere the
/// name of the Secret is passed over, and metal3 waits without end for an image that has what it says.
pub mod network_data {
    use crate::condition::outcomes;

    outcomes! {
        READY = "Ready" False "UnsupportedNetworkData" "The network of Secret {} can't be put into the image: take preprovisioningNetworkDataName away from the BareMetalHost, and describe the network in an NMStateConfig that the InfraEnv selects";
        ERROR = "Error" True "UnsupportedNetworkData" "The network of Secret {} can't be put into the image: take preprovisioningNetworkDataName away from the BareMetalHost, and describe the network in an NMStateConfig that the InfraEnv selects";
    }
}
