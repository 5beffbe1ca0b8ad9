# The storage class becomes the cluster's default, which workbenches and pipelines take theirs from.
# Runs with -ex in the image of the controller, which has oc and date; $class is set before.

until oc get storageclass "$class"; do
  echo "$(date -u +%FT%TZ) waiting for the storage class $class"
  sleep 30
done
oc annotate --overwrite storageclass "$class" storageclass.kubernetes.io/is-default-class=true
