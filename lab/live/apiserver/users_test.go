package apiserver

import (
	"strings"
	"testing"
)

// The file has one line for each user, with the groups in one field.
func TestWriteTokens(t *testing.T) {
	var b strings.Builder
	err := WriteTokens(&b, []User{
		{"system:serviceaccount:shop:till", []string{"system:serviceaccounts", "system:serviceaccounts:shop"}},
		{"mouse-1", []string{"live"}},
		{"mouse-1", []string{"live"}},
		{"alone", nil},
	})
	want := `token-of-system:serviceaccount:shop:till,system:serviceaccount:shop:till,system:serviceaccount:shop:till,"system:serviceaccounts,system:serviceaccounts:shop"
token-of-mouse-1,mouse-1,mouse-1,live
token-of-alone,alone,alone,
`
	if err != nil || b.String() != want {
		t.Errorf("got %v and\n%swant\n%s", err, b.String(), want)
	}
	err = WriteTokens(&b, []User{{"mouse-1", []string{"live"}}, {"mouse-1", []string{"other"}}})
	if err == nil || !strings.Contains(err.Error(), `"live" and "other"`) {
		t.Errorf("got %v, want an error that names both lists", err)
	}
}
