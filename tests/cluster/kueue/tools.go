//go:build tools

package kueue

// builds: sigs.k8s.io/kueue/cmd/kueue
import _ "sigs.k8s.io/kueue/cmd/kueue"
