package hub

import "fmt"

// A ConfigError reports a setting that cannot be used.
type ConfigError struct {
	Field string // the field of Config or ServerConfig
	Got   string
	Want  string
}

// Error returns "hub: FIELD: got GOT, want WANT".
func (e *ConfigError) Error() string {
	return fmt.Sprintf("hub: %s: got %s, want %s", e.Field, e.Got, e.Want)
}

// An AnonymousError reports a server that anyone in the network could use: one that listens
// beyond this machine and asks for no credentials.
type AnonymousError struct {
	Host string // where it was to listen
}

// Error says what to set.
func (e *AnonymousError) Error() string {
	return fmt.Sprintf("hub: the server would listen on %q without credentials: want a user with a password, NKeys or client certificates, or 127.0.0.1", e.Host)
}

// A VersionError reports a program whose results cannot be mixed with those of this one: its
// messages have another form, or its bits follow another numeric contract.
type VersionError struct {
	Peer string  // what is known of it: a worker's name, a subject
	Got  Version // 0.0 if it does not say
	Want Version // this program's
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("hub: %s has version %v, want %v (wire format.numeric contract)", e.Peer, e.Got, e.Want)
}
