# The node has to be in the cluster first; ten minutes in all.
deadline=$((SECONDS + 600))
wait_until() {
    until "$@" > /dev/null 2>&1; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            echo "it never came: $*" >&2
            exit 1
        fi
        sleep 10
    done
}
wait_until kubectl --kubeconfig @KUBECONFIG@ get --raw /readyz
wait_until kubectl --kubeconfig @KUBECONFIG@ get node "$(hostname)"
