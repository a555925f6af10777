package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
)

// errToken is the error of a continue token that is not valid, for which a server answers 400.
var errToken = errors.New("continue key is not valid")

// tokenVersion is the only version of tokens (k8s.io/apiserver pkg/storage/continue.go).
const tokenVersion = "meta.k8s.io/v1"

// token is the content of a continue token.
type token struct {
	APIVersion string `json:"v"`
	Revision   int64  `json:"rv"`
	Start      string `json:"start"`
}

// EncodeToken returns the continue token of a list that continues at a revision, −1 for the latest one, with a
// start key, which is a Page's Next.
func EncodeToken(revision int64, start string) string {
	text, err := json.Marshal(token{tokenVersion, revision, start})
	if err != nil {
		panic("store: a token cannot be encoded: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// DecodeToken returns the revision of a continue token, less than 0 for the latest, and its start key. The
// error wraps errToken.
func DecodeToken(text string) (revision int64, start string, err error) {
	content, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return 0, "", fmt.Errorf("%w: %v", errToken, err)
	}
	var t token
	if err := json.Unmarshal(content, &t); err != nil {
		return 0, "", fmt.Errorf("%w: %v", errToken, err)
	}
	switch {
	case t.APIVersion != tokenVersion:
		return 0, "", fmt.Errorf("%w: version %q is not supported; use %q", errToken, t.APIVersion, tokenVersion)
	case t.Revision == 0:
		return 0, "", fmt.Errorf("%w: rv is 0 or missing", errToken)
	case t.Start == "":
		return 0, "", fmt.Errorf("%w: start is empty or missing", errToken)
	}
	// A start that leads out of the range of the list is an attack.
	key := t.Start
	if key[0] != '/' {
		key = "/" + key
	}
	if path.Clean(key) != key {
		return 0, "", fmt.Errorf("%w: start %q is not a clean path", errToken, t.Start)
	}
	return t.Revision, key[1:], nil
}
