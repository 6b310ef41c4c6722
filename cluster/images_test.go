//go:build unix

package main

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/models/weights"
)

// A container is what the examples of compose and of Kubernetes start.
type container struct {
	name   string
	args   []string
	mounts map[string]string // path in the container: what is there
	probes []string          // :PORT/PATH
}

// imageUser is the user and the group of the image.
const imageUser = 65534

// The image has the command alone and a user of its own, and its folder of files belongs to that
// user.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	for name, starts := range map[string][2]string{"deploy/Containerfile": {"./cluster", `["/cluster"]`}, "../models/attn/Containerfile": {"./models/attn", `["/attn", "serve"]`}} {
		entry := starts[0]
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		built := regexp.MustCompile(`go build .* -o (\S+) (\S+)`).FindSubmatch(data)
		if built == nil || string(built[2]) != entry {
			t.Fatalf("%s builds %q, want %s", name, built, entry)
		}
		if _, err := os.Stat(filepath.Join("..", entry, "main.go")); err != nil {
			t.Error(err)
		}
		list := exec.Command("go", "list", "-deps", "-f", "{{if .CgoFiles}}{{.ImportPath}} needs cgo{{end}}", entry) // fails if a package has no files without cgo
		list.Dir, list.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := list.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s cannot be built without cgo: %v\n%s", entry, err, out)
		}
		binary := string(built[1])
		for _, line := range []string{"CGO_ENABLED=0", "\nFROM scratch\n", "\nUSER 65534:65534\n", "\nENV ATTN_MODELS=/models\n", "\nENTRYPOINT " + starts[1] + "\n", "COPY --from=build " + binary + " " + binary + "\n"} {
			if !strings.Contains(string(data), line) {
				t.Errorf("%s lacks %q", name, line)
			}
		}
		version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
		mod, err := os.ReadFile("go.mod")
		if err != nil {
			t.Fatal(err)
		}
		if want := "golang:" + string(version.FindSubmatch(mod)[1]) + " AS build"; !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", name, want)
		}
	}
}

// decodeStrictly decodes YAML. A field that x lacks is an error, so that a name with a slip is one.
func decodeStrictly(t *testing.T, data []byte, x any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(x); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
}

// composeFile has the fields that compose.yaml uses.
type composeFile struct {
	Name      string
	Container composeService `yaml:"x-container"`
	Services  map[string]composeService
	Volumes   map[string]struct{}
	Secrets   map[string]struct{ File string }
}

type composeService struct {
	Image, User     string
	ReadOnly        bool     `yaml:"read_only"`
	CapDrop         []string `yaml:"cap_drop"`
	SecurityOpt     []string `yaml:"security_opt"`
	PidsLimit       int      `yaml:"pids_limit"`
	CPUs            float64  `yaml:"cpus"`
	MemLimit        string   `yaml:"mem_limit"`
	Restart         string
	Build           *struct{ Context, Dockerfile string }
	Command         []string
	Volumes         []string
	Secrets         []string
	Ports           []string
	StopGracePeriod string                                `yaml:"stop_grace_period"`
	DependsOn       map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck     struct {
		Test              []string
		Interval, Timeout string
		StartPeriod       string `yaml:"start_period"`
		Retries           int
	}
}

// readCompose reads compose.yaml.
func readCompose(t *testing.T) (file composeFile) {
	t.Helper()
	data, err := os.ReadFile("deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decodeStrictly(t, data, &file)
	return file
}

// The services of compose.yaml start, as a user without rights, and are ready.
func TestCompose(t *testing.T) {
	t.Parallel()
	file := readCompose(t)
	d := newDeployment(t)
	used := map[string]bool{}
	var all []container
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		s := file.Services[name]
		if s.User != "65534:65534" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) ||
			s.PidsLimit <= 0 || s.CPUs <= 0 || s.MemLimit == "" || s.Image != file.Container.Image {
			t.Errorf("%s may do more than it needs: %+v", name, s)
		}
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join("deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Error(err)
			}
		}
		c := container{name: name, args: s.Command, mounts: map[string]string{}}
		for _, volume := range s.Volumes {
			what, where, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":/")
			if _, named := file.Volumes[what]; !named && what != "${ATTN_MODELS:?folder of the models}" {
				t.Errorf("%s: there is no volume %q", name, what)
			}
			c.mounts["/"+where] = what
		}
		for _, secret := range s.Secrets {
			used[secret] = true
			from, ok := strings.CutPrefix(file.Secrets[secret].File, "keys/")
			if !ok {
				t.Errorf("%s: there is no secret %q", name, secret)
			}
			c.mounts["/run/secrets/"+secret] = d.secret(from)
		}
		if len(s.Healthcheck.Test) != 4 || !slices.Equal(s.Healthcheck.Test[:3], []string{"CMD", "/cluster", "check"}) {
			t.Fatalf("%s: health is %q, want that of cluster check URL", name, s.Healthcheck.Test)
		}
		c.probes = []string{strings.TrimPrefix(s.Healthcheck.Test[3], "http://127.0.0.1")}
		all = append(all, c)
	}
	if len(used) != len(file.Secrets) {
		t.Errorf("secrets that nobody uses: %v of %v", used, file.Secrets)
	}
	d.start(all)
}

// The fields that kubernetes.yaml uses.
type (
	kubeHeader struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   kubeMetadata
	}
	kubeMetadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
	kubeWorkload struct {
		kubeHeader `yaml:",inline"`
		Spec       struct {
			Replicas    int
			ServiceName string `yaml:"serviceName"`
			Selector    kubeSelector
			Template    struct {
				Metadata kubeMetadata
				Spec     kubePod
			}
			VolumeClaimTemplates []struct {
				Metadata kubeMetadata
				Spec     kubeClaim
			} `yaml:"volumeClaimTemplates"`
		}
	}
	kubeSelector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	kubeClaim struct {
		AccessModes []string `yaml:"accessModes"`
		Resources   struct{ Requests map[string]string }
	}
	kubePod struct {
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
			RunAsUser      int                   `yaml:"runAsUser"`
			RunAsGroup     int                   `yaml:"runAsGroup"`
			FSGroup        int                   `yaml:"fsGroup"`
			SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		Containers []kubeContainer
		Volumes    []kubeVolume
	}
	kubeContainer struct {
		Name, Image     string
		Args            []string
		Ports           []kubePort
		SecurityContext struct {
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		Resources      struct{ Requests, Limits map[string]string }
		StartupProbe   kubeProbe `yaml:"startupProbe"`
		LivenessProbe  kubeProbe `yaml:"livenessProbe"`
		ReadinessProbe kubeProbe `yaml:"readinessProbe"`
		VolumeMounts   []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	kubePort struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	kubeProbe struct {
		HTTPGet struct {
			Path string
			Port int
		} `yaml:"httpGet"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	}
	kubeVolume struct {
		Name   string
		Secret *struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
			Items       []struct{ Key, Path string }
		}
		Claim *struct {
			ClaimName string `yaml:"claimName"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"persistentVolumeClaim"`
	}
)

// kubeWorkloads returns the workloads of kubernetes.yaml.
func kubeWorkloads(t *testing.T) (all []kubeWorkload) {
	t.Helper()
	for _, document := range kubeDocuments(t) {
		var header kubeHeader
		if err := yaml.Unmarshal(document, &header); err != nil {
			t.Fatal(err)
		}
		if header.Kind == "StatefulSet" || header.Kind == "Deployment" {
			var w kubeWorkload
			decodeStrictly(t, document, &w)
			all = append(all, w)
		}
	}
	return all
}

// kubeDocuments returns the documents of kubernetes.yaml.
func kubeDocuments(t *testing.T) [][]byte {
	t.Helper()
	data, err := os.ReadFile("deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))
}

// The pods of kubernetes.yaml start, as a user without rights, with encrypted connections, and are
// ready. Services, claims and secrets that they name are there.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	documents := kubeDocuments(t)
	d := newDeployment(t)
	there := map[string]bool{} // KIND/NAME
	secrets := map[string][]string{}
	for _, line := range regexp.MustCompile(`(?m)^#.* create secret generic (\S+) (.*)$`).FindAllSubmatch(documents[0], -1) {
		for _, file := range regexp.MustCompile(`--from-file=(?:keys/)?(\S+)`).FindAllSubmatch(line[2], -1) {
			secrets[string(line[1])] = append(secrets[string(line[1])], string(file[1]))
		}
	}
	for _, document := range documents {
		var header kubeHeader
		if err := yaml.Unmarshal(document, &header); err != nil {
			t.Fatal(err)
		}
		if header.Kind != "Namespace" && header.Metadata.Namespace != "attn" {
			t.Errorf("%+v is not in the namespace", header)
		}
		there[header.Kind+"/"+header.Metadata.Name] = true
		switch header.Kind {
		case "StatefulSet", "Deployment": // see kubeWorkloads
		case "Service":
			var s struct {
				kubeHeader `yaml:",inline"`
				Spec       struct {
					Selector map[string]string
					Ports    []struct {
						Name string
						Port int
					}
				}
			}
			decodeStrictly(t, document, &s)
			if s.Spec.Selector["app"] != s.Metadata.Name || len(s.Spec.Ports) != 1 {
				t.Errorf("%+v", s)
			}
		case "PersistentVolumeClaim":
			decodeStrictly(t, document, &struct {
				kubeHeader `yaml:",inline"`
				Spec       kubeClaim
			}{})
		case "PodDisruptionBudget":
			decodeStrictly(t, document, &struct {
				kubeHeader `yaml:",inline"`
				Spec       struct {
					MaxUnavailable int `yaml:"maxUnavailable"`
					Selector       kubeSelector
				}
			}{})
		case "Namespace":
			decodeStrictly(t, document, &kubeHeader{})
		default:
			t.Errorf("kind %q is not tested", header.Kind)
		}
	}
	var all []container
	for _, w := range kubeWorkloads(t) {
		all = append(all, d.pod(&w, there, secrets))
	}
	d.start(all)
}

// pod checks a workload and returns its container.
func (d *deployment) pod(w *kubeWorkload, there map[string]bool, secrets map[string][]string) container {
	t, name, pod := d.t, w.Metadata.Name, &w.Spec.Template.Spec
	t.Helper()
	if w.Spec.Selector.MatchLabels["app"] != name || w.Spec.Template.Metadata.Labels["app"] != name || len(pod.Containers) != 1 || w.Spec.Replicas < 1 {
		t.Fatalf("%s: %+v", name, w)
	}
	c := &pod.Containers[0]
	no := func(x *bool) bool { return x != nil && !*x }
	if s := pod.SecurityContext; !s.RunAsNonRoot || s.RunAsUser != imageUser || s.RunAsGroup != imageUser || s.FSGroup != imageUser || s.SeccompProfile.Type != "RuntimeDefault" ||
		!no(pod.AutomountServiceAccountToken) || !c.SecurityContext.ReadOnlyRootFilesystem || !no(c.SecurityContext.AllowPrivilegeEscalation) ||
		!slices.Equal(c.SecurityContext.Capabilities.Drop, []string{"ALL"}) || c.Resources.Limits["memory"] == "" || c.Resources.Limits["cpu"] == "" {
		t.Errorf("%s may do more than it needs: %+v", name, pod)
	}
	out := container{name: name, args: c.Args, mounts: map[string]string{}}
	volumes := map[string]kubeVolume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	for _, x := range w.Spec.VolumeClaimTemplates {
		volumes[x.Metadata.Name] = kubeVolume{Name: x.Metadata.Name}
	}
	for _, m := range c.VolumeMounts {
		v, ok := volumes[m.Name]
		switch {
		case !ok:
			t.Errorf("%s: there is no volume %q", name, m.Name)
		case v.Secret != nil:
			files := secrets[v.Secret.SecretName]
			if len(files) == 0 {
				t.Errorf("%s: no command makes the secret %q", name, v.Secret.SecretName)
			}
			if len(v.Secret.Items) > 0 {
				files = nil
			}
			for _, item := range v.Secret.Items {
				if !slices.Contains(secrets[v.Secret.SecretName], item.Key) {
					t.Errorf("%s: the secret %q lacks %s", name, v.Secret.SecretName, item.Key)
				}
				files = append(files, item.Path)
			}
			for _, file := range files {
				out.mounts[path.Join(m.MountPath, file)] = d.secret(file)
			}
		case v.Claim != nil:
			if !there["PersistentVolumeClaim/"+v.Claim.ClaimName] {
				t.Errorf("%s: there is no claim %q", name, v.Claim.ClaimName)
			}
			out.mounts[m.MountPath] = "models"
		default:
			out.mounts[m.MountPath] = "store"
		}
	}
	for _, p := range []kubeProbe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		out.probes = append(out.probes, ":"+strconv.Itoa(p.HTTPGet.Port)+p.HTTPGet.Path)
		if !slices.ContainsFunc(c.Ports, func(port kubePort) bool { return port.ContainerPort == p.HTTPGet.Port }) {
			t.Errorf("%s: port %d is not one of the container", name, p.HTTPGet.Port)
		}
	}
	return out
}

// A deployment starts the containers of an example as processes.
type deployment struct {
	t      *testing.T
	keys   string // the folder that the commands in the comments fill
	tls    map[string]string
	models string
	nats   string // port
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, keys: keys(t), models: t.TempDir(), nats: freePorts(1)[0]}
	cert, key := testutil.Certificate(t)
	d.tls = map[string]string{"tls.crt": cert, "ca.crt": cert, "tls.key": key}
	if err := os.WriteFile(filepath.Join(d.keys, "api-keys"), []byte("secret-of-a-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{weights.MiniLM: "bert-1", weights.SmolLM2: "llama-2"} {
		from, err := filepath.Abs(filepath.Join("../models/testdata/tiny", from))
		to := filepath.Join(d.models, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.Symlink(from, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// secret returns where the file of a secret is, which the commands in the comments of the example
// have made.
func (d *deployment) secret(name string) string {
	d.t.Helper()
	file := d.tls[name]
	if file == "" {
		file = filepath.Join(d.keys, name)
	}
	if _, err := os.Stat(file); err != nil {
		d.t.Errorf("a secret is of a file that is not there: %v", err)
	}
	return file
}

// start starts the server and then the others, and expects 200 of all probes in the end.
func (d *deployment) start(all []container) {
	d.t.Helper()
	slices.SortFunc(all, func(a, b container) int { return strings.Compare(a.order(), b.order()) })
	var roles []string
	for _, c := range all {
		roles = append(roles, c.args[0])
	}
	if want := []string{"serve", "answer", "gateway", "work"}; !slices.Equal(roles, want) {
		d.t.Errorf("they run %q, want %q", roles, want)
	}
	urls := map[string]string{}
	for _, c := range all {
		for _, probe := range d.run(c) {
			urls[probe] = c.name
		}
	}
	for url, name := range urls {
		eventually(d.t, url, http.StatusOK)
		if _, _, err := runCommand(d.t.Context(), "check", url); err != nil {
			d.t.Errorf("%s: %v", name, err)
		}
	}
}

// order has the server before all others, and these by name.
func (c *container) order() string {
	if c.args[0] == "serve" {
		return ""
	}
	return c.name
}

// run starts a container as a process, and returns the URLs of its probes.
func (d *deployment) run(c container) (probes []string) {
	t := d.t
	t.Helper()
	store := t.TempDir()
	port := freePorts(1)[0]
	inside, _, _ := strings.Cut(strings.TrimPrefix(c.probes[0], ":"), "/")
	change := strings.NewReplacer("0.0.0.0", "127.0.0.1", "//server:4222", "//127.0.0.1:"+d.nats, ":"+inside, ":"+port)
	var args []string
	for i, arg := range c.args {
		if strings.HasPrefix(arg, "/") {
			arg = d.file(&c, arg, store)
		}
		args = append(args, change.Replace(arg))
		if i == 0 && arg == "serve" {
			args = append(args, "-port", d.nats)
		}
	}
	ready := "metrics at"
	if args[0] == "gateway" {
		ready = "msg=listening"
	}
	startProcess(t, ready, append([]string{modelsIn + d.models}, args...)...)
	for _, probe := range c.probes {
		probes = append(probes, "http://127.0.0.1"+change.Replace(probe))
	}
	return probes
}

// file returns where a file of a container is on this machine. It must be below a mount, as the
// rest cannot be written and has nothing but the command.
func (d *deployment) file(c *container, name, store string) string {
	d.t.Helper()
	for where, what := range c.mounts {
		if rest, ok := strings.CutPrefix(name+"/", where+"/"); ok {
			if what == "store" {
				return filepath.Join(store, rest)
			}
			return what
		}
	}
	d.t.Fatalf("%s: %s is on no volume", c.name, name)
	return ""
}
