# The cluster's image registry is given object storage, so that kernel modules can be built in the cluster and kept there.
# Runs with -ex in the image of the controller, which has oc, date and base64.

class=ocs-storagecluster-ceph-rgw

say() {
  echo "$(date -u +%FT%TZ) $*"
}

until oc get storageclass "$class"; do
  say "waiting for the storage class $class"
  sleep 30
done

oc apply -f - <<CLAIM
apiVersion: objectbucket.io/v1alpha1
kind: ObjectBucketClaim
metadata:
  name: registry
  namespace: openshift-image-registry
spec:
  storageClassName: $class
  generateBucketName: registry
CLAIM

claim() {
  oc get objectbucketclaims.objectbucket.io registry -n openshift-image-registry -o jsonpath="{$1}"
}

until [ "$(claim .status.phase)" = Bound ]; do
  say "waiting for the bucket"
  sleep 30
done

bucket=$(claim .spec.bucketName)
host=$(oc get objectbuckets.objectbucket.io "$(claim .spec.objectBucketName)" -o jsonpath='{.spec.endpoint.bucketHost}')

# The keys must not be in the log.
set +x
key() {
  oc get secret registry -n openshift-image-registry -o jsonpath="{.data.$1}"
}
access_key=$(key AWS_ACCESS_KEY_ID)
secret_key=$(key AWS_SECRET_ACCESS_KEY)
oc apply -f - <<KEYS
apiVersion: v1
kind: Secret
metadata:
  name: image-registry-private-configuration-user
  namespace: openshift-image-registry
data:
  REGISTRY_STORAGE_S3_ACCESSKEY: $access_key
  REGISTRY_STORAGE_S3_SECRETKEY: $secret_key
KEYS
set -x

ca=$(oc get configmap openshift-service-ca.crt -n openshift-config -o jsonpath='{.data.service-ca\.crt}')
oc create configmap registry-ca -n openshift-config --from-literal=ca-bundle.crt="$ca" --dry-run=client -o yaml | oc apply -f -

oc patch configs.imageregistry.operator.openshift.io cluster --type=merge -p "{
  \"spec\": {
    \"managementState\": \"Managed\",
    \"disableRedirect\": true,
    \"replicas\": 2,
    \"storage\": {
      \"managementState\": \"Unmanaged\",
      \"s3\": {
        \"bucket\": \"$bucket\",
        \"region\": \"us-east-1\",
        \"regionEndpoint\": \"https://$host\",
        \"virtualHostedStyle\": false,
        \"encrypt\": false,
        \"trustedCA\": {\"name\": \"registry-ca\"}
      }
    }
  }
}"
say "the image registry stores in the bucket $bucket"
