package reports_test

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"apfsim/core/dealer"
	"apfsim/experiment/output"
	"apfsim/reports/advice"
	"apfsim/reports/charts"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// pngScale is how many pixels a chart's PNG file has for one of its SVG file's: 144 dots an
// inch against 96.
const pngScale = 1.5

// drawnSVG shows a chart as SVG and returns what the browser draws of it, in the size of the PNG file.
func (b *browser) drawnSVG(c *charts.Chart) image.Image {
	b.T.Helper()
	var svg bytes.Buffer
	if err := c.WriteSVG(&svg); err != nil {
		b.T.Fatal(err)
	}
	return b.drawnFile(svg.Bytes(), c.Name+".svg")
}

func (b *browser) drawnFile(content []byte, name string) image.Image {
	b.T.Helper()
	file := filepath.Join(b.T.TempDir(), name)
	if err := os.WriteFile(file, content, 0o666); err != nil {
		b.T.Fatal(err)
	}
	b.prefer("light")
	b.Do(chromedp.EmulateViewport(800, 800), chromedp.Navigate("file://"+filepath.ToSlash(file)))
	size := eval[[]float64](b, `(() => { const r = document.documentElement.getBoundingClientRect(); return [r.width, r.height] })()`)
	if _, err := chromedp.Call(b.Ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(math.Ceil(size[0])), Height: int64(math.Ceil(size[1])), DeviceScaleFactor: pngScale}); err != nil {
		b.T.Fatal(err)
	}
	shot, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.T.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		b.T.Fatal(err)
	}
	return picture
}

func drawnPNG(t *testing.T, c *charts.Chart) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := c.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// scale says where a value is along an axis, in pixels of the PNG file.
type scale struct{ zero, each float64 }

func (s scale) at(value float64) float64 { return s.zero + s.each*value }

// axes reads the scales of the chart that the browser shows off the numbers beside its axes and the
// tick marks nearest to them. The numbers of x are in one line, the lowest.
func (b *browser) axes(t *testing.T) (x, y scale) {
	t.Helper()
	type label struct{ Value, X, Y, Line float64 }
	labels := eval[[]label](b, `(() => {
		const middle = e => { const r = e.getBoundingClientRect(); return {x: (r.left + r.right) / 2, y: (r.top + r.bottom) / 2, wide: r.width, high: r.height} };
		const marks = [...document.querySelectorAll("path")].map(middle).filter(m => m.wide + m.high > 2 && m.wide + m.high < 6);
		const nearest = (all, at) => all.reduce((best, v) => Math.abs(v - at) < Math.abs(best - at) ? v : best, Infinity);
		return [...document.querySelectorAll("text")].filter(e => /^[0-9.]+$/.test(e.textContent)).map(e => {
			const m = middle(e);
			return {Value: +e.textContent, X: nearest(marks.filter(m => m.wide < 1).map(m => m.x), m.x), Y: nearest(marks.filter(m => m.high < 1).map(m => m.y), m.y), Line: m.y};
		});
	})()`)
	lowest := 0.0
	for _, l := range labels {
		lowest = max(lowest, l.Line)
	}
	fit := func(name string, within func(label) bool, where func(label) float64) scale {
		var first, last label
		n := 0
		for _, l := range labels {
			if !within(l) {
				continue
			}
			if n++; n == 1 || l.Value < first.Value {
				first = l
			}
			if n == 1 || l.Value > last.Value {
				last = l
			}
		}
		if first.Value == last.Value {
			t.Fatalf("the %s axis has no two numbers: %v", name, labels)
		}
		each := (where(last) - where(first)) / (last.Value - first.Value)
		return scale{pngScale * (where(first) - each*first.Value), pngScale * each}
	}
	x = fit("x", func(l label) bool { return l.Line > lowest-2 }, func(l label) float64 { return l.X })
	right := x.at(0) / pngScale
	y = fit("y", func(l label) bool { return l.Line < lowest-2 && l.Line > 0 && l.X <= right }, func(l label) float64 { return l.Y })
	return x, y
}

// darkness is how much less light than white a pixel is, from 0 to 1.
func darkness(picture image.Image, x, y int) float64 {
	r, g, b, _ := picture.At(x, y).RGBA()
	return 1 - float64(r+g+b)/(3*0xffff)
}

// middleOf returns the middle of what is dark along a line of pixels, and how long it is.
func middleOf(from, to int, dark func(i int) float64) (middle, length float64) {
	sum := 0.0
	for i := from; i < to; i++ {
		d := dark(i)
		length, sum = length+d, sum+d*(float64(i)+0.5)
	}
	return sum / length, length
}

// filledQueue is a run of 40 s in which one queue is full all the time (column < 0), or all queues
// are full in one interval of 1 s.
func filledQueue(queues, queue, column int) *result.Result {
	const intervals = 40
	s := &result.Series{Level: "level", Limited: true}
	for i := range int64(intervals) {
		s.Points = append(s.Points, result.Point{StartNs: i * 1e9, EndNs: (i + 1) * 1e9, Arrived: 1})
		lengths := make([]int32, queues)
		for q := range lengths {
			if q == queue || int(i) == column {
				lengths[q] = 50
			}
		}
		s.QueueLengths = append(s.QueueLengths, lengths)
	}
	return &result.Result{Summary: &result.Summary{Name: "test", DurationNs: intervals * 1e9}, Series: []*result.Series{s}}
}

func queuesChart(t *testing.T, r *result.Result) *charts.Chart {
	t.Helper()
	return chartOf(t, r, "queues-level")
}

// chartOf returns the chart of a run with the given name.
func chartOf(t *testing.T, r *result.Result, name string) *charts.Chart {
	t.Helper()
	for _, c := range charts.Of(report.RunDocument(r)) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no chart %s", name)
	return nil
}

// A queue that is full is dark where the axis says that it is, as SVG in a browser and as PNG; so is
// an interval in which all queues are full.
func TestRowsOfQueuesAreWhereTheAxisSays(t *testing.T) {
	b := newBrowser(t)
	for _, test := range []struct{ queues, queue int }{{16, 0}, {16, 15}, {128, 25}, {128, 127}, {512, 2}, {512, 509}} {
		t.Run(fmt.Sprintf("queue %d of %d", test.queue, test.queues), func(t *testing.T) {
			c := queuesChart(t, filledQueue(test.queues, test.queue, -1))
			svg := b.drawnSVG(c)
			x, y := b.axes(t)
			top, bottom := int(y.at(float64(test.queues)))-2, int(y.at(0))-1
			want, high := y.at(float64(test.queue)+0.5), -y.each
			for name, picture := range map[string]image.Image{"SVG": svg, "PNG": drawnPNG(t, c)} {
				got, length := middleOf(top, bottom, func(row int) float64 {
					return max(0, darkness(picture, int(x.at(20.5)), row)-0.1)
				})
				if math.Abs(got-want) > 2 {
					t.Errorf("%s: what is dark is in row %.1f of pixels, where the axis has queue %.1f; want row %.1f", name, got, (got-y.zero)/y.each-0.5, want)
				}
				if length < 0.3*high || length > high+1 {
					t.Errorf("%s: %.2f pixels are dark; want about %.2f, the height of a queue", name, length, high)
				}
			}
		})
	}
	for _, column := range []int{0, 39} {
		t.Run(fmt.Sprintf("second %d", column), func(t *testing.T) {
			c := queuesChart(t, filledQueue(128, -1, column))
			svg := b.drawnSVG(c)
			x, y := b.axes(t)
			want, wide := x.at(float64(column)+0.5), x.each
			for name, picture := range map[string]image.Image{"SVG": svg, "PNG": drawnPNG(t, c)} {
				// Rows near both ends: all of the height is filled.
				for _, queue := range []float64{1, 64.5, 127} {
					got, length := middleOf(int(x.at(0))+2, int(x.at(40))+6, func(column int) float64 {
						return max(0, darkness(picture, column, int(y.at(queue)))-0.1)
					})
					if math.Abs(got-want) > 2 || length < 0.5*wide || length > wide+1 {
						t.Errorf("%s: at queue %v what is dark is in column %.1f of pixels and %.1f wide; want %.1f and %.1f", name, queue, got, length, want, wide)
					}
				}
			}
		})
	}
}

// shots is where the browser tests leave pictures of what they have drawn, for a person to look at.
var shots = flag.String("shots", "", "write screenshots of all charts and pages into this `folder`")

func keepShot(t *testing.T, name string, picture []byte) {
	t.Helper()
	if *shots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o666); err != nil {
		t.Fatal(err)
	}
}

// everyKindOfChart returns charts of all kinds that there are: those of a run, of sweeps over one
// and two parameters, and of collisions.
func everyKindOfChart(t *testing.T) []*charts.Chart {
	t.Helper()
	made := charts.Of(report.RunDocument(simulated(t, eventful)))
	for _, values := range [][]string{{"4"}, {"4", "6", "8"}} {
		s := &report.Sweep{SchemaVersion: result.SchemaVersion, Scenario: "small", Inputs: []report.SweepInput{}, Set: []string{},
			Parameters: []report.Parameter{{Path: "spec.workload[mice].clients", Values: []string{"1", "5", "16"}}, {Path: "level[a,b].handSize", Values: values}},
			Seed:       1, Replications: 2, Charts: []string{"wait.max"}}
		dir := t.TempDir()
		if err := output.BeginSweep(s, dir); err != nil {
			t.Fatal(err)
		}
		for run := range s.Runs() {
			wait := &result.Distribution{Count: 8, MaxNs: int64(run*run%13) * 1e6}
			if err := output.WriteSweepRun(s, dir, run, &result.Summary{DurationNs: 1e9, Total: result.Group{Counts: metric.Counts{Arrived: 8, Executed: 8}, Wait: wait}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		d, err := output.FinishSweep(s, t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		drawn := charts.Of(d)
		if len(drawn) != 1 {
			t.Fatalf("a sweep has %d charts", len(drawn))
		}
		drawn[0].Name = fmt.Sprintf("sweep-over-%d", 1+len(values)/2)
		made = append(made, drawn...)
	}
	table, err := advice.NewCollisions(t.Context(), []dealer.Deck{{Queues: 32, HandSize: 8}, {Queues: 128, HandSize: 6}, {Queues: 512, HandSize: 6}}, []int{1, 4, 16}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(made, charts.Of(report.CollisionDocument(table))...)
}

// What a browser draws of a chart's SVG file is what its PNG file has. Text may be set in another
// font, and is left out.
//
// Where squares of 4 by 4 pixels differ by more than a sixth of the range from black to white, that
// is counted as wrong; edges that fall between pixels differ by less, or in few places. One square in
// 250 may be. The map of queues whose image kept its own proportions had one in five wrong.
func TestSVGIsDrawnAsPNG(t *testing.T) {
	b := newBrowser(t)
	for _, c := range everyKindOfChart(t) {
		t.Run(c.Name, func(t *testing.T) {
			svg, picture := b.drawnSVG(c), drawnPNG(t, c)
			for format, p := range map[string]image.Image{"svg": svg, "png": picture} {
				var shot bytes.Buffer
				if err := png.Encode(&shot, p); err != nil {
					t.Fatal(err)
				}
				keepShot(t, "chart-"+c.Name+"-"+format, shot.Bytes())
			}
			texts := eval[[][]float64](b, `[...document.querySelectorAll("text")].map(e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] })`)
			if len(texts) < 5 {
				t.Errorf("there are %d texts", len(texts))
			}
			size := picture.Bounds().Size()
			if drawn := svg.Bounds().Size(); max(drawn.X-size.X, size.X-drawn.X) > 2 || max(drawn.Y-size.Y, size.Y-drawn.Y) > 2 {
				t.Fatalf("the SVG file is drawn in %v pixels, the PNG file in %v", drawn, size)
			}
			wrong, all := differing(svg, picture, texts)
			t.Logf("%d of %d squares differ", wrong, all)
			if wrong*250 > all {
				t.Errorf("%d of %d squares differ; want at most one in 250", wrong, all)
			}
		})
	}
}

// differing compares squares of two pictures that have no text in them, given by its rectangles in
// units of the page.
func differing(svg, picture image.Image, texts [][]float64) (wrong, all int) {
	const side, margin = 4, 3
	size := picture.Bounds().Size()
	light := func(p image.Image, x, y int) (sum [3]float64) {
		for i := range side {
			for j := range side {
				r, g, b, _ := p.At(x+i, y+j).RGBA()
				for k, v := range [3]uint32{r, g, b} {
					sum[k] += float64(v) / (0xffff * side * side)
				}
			}
		}
		return sum
	}
	for x := 0; x+side < size.X-2; x += side {
	squares:
		for y := 0; y+side < size.Y-2; y += side {
			for _, r := range texts {
				if float64(x+side) > pngScale*r[0]-margin && float64(x) < pngScale*r[2]+margin && float64(y+side) > pngScale*r[1]-margin && float64(y) < pngScale*r[3]+margin {
					continue squares
				}
			}
			all++
			a, b := light(svg, x, y), light(picture, x, y)
			for k := range a {
				if math.Abs(a[k]-b[k]) > 1./6 {
					wrong++
					break
				}
			}
		}
	}
	return wrong, all
}

// eventful is crowded, with a change of the configuration that halves a limit.
var eventful = strings.Replace(crowded, "  workload:\n", `  events:
  - at: 20s
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: workload-low}
        spec: {type: Limited, limited: {nominalConcurrencyShares: 40, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}}}
  workload:
`, 1)
