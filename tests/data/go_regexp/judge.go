// Program judge says what Go's regexp package makes of patterns: one JSON case per line of the
// input, one JSON verdict per line of the output.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
)

type question struct {
	Pattern string   `json:"pattern"`
	Texts   []string `json:"texts"`
	With    string   `json:"with"`
}

type answer struct {
	Matches  bool       `json:"matches"`
	All      [][]string `json:"all"`
	Replaced string     `json:"replaced"`
	Literal  string     `json:"literal"`
	Split    []string   `json:"split"`
}

type verdict struct {
	Error   string   `json:"error,omitempty"`
	Answers []answer `json:"answers,omitempty"`
}

func judge(asked question) verdict {
	found, err := regexp.Compile(asked.Pattern)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	var answers []answer
	for _, text := range asked.Texts {
		answers = append(answers, answer{
			Matches:  found.MatchString(text),
			All:      found.FindAllStringSubmatch(text, -1),
			Replaced: found.ReplaceAllString(text, asked.With),
			Literal:  found.ReplaceAllLiteralString(text, asked.With),
			Split:    found.Split(text, -1),
		})
	}
	return verdict{Answers: answers}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	printed := json.NewEncoder(out)
	printed.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := printed.Encode(judge(asked)); err != nil {
			panic(err)
		}
	}
}
