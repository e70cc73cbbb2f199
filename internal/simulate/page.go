package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"time"

	"shunt/internal/family/claude"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) },
	"fixed":   func(f float64) string { return fmt.Sprintf("%.1f", f) },
	"width":   func(f float64) string { return fmt.Sprintf("%.1f", 100*min(f, 1)) },
}).Parse(pageText))

// page is the data of the template.
type page struct {
	*Comparison
	Charts []chart
	Panels []panel
}

// WritePage writes a comparison as one self-contained HTML page with plots.
func WritePage(w io.Writer, c *Comparison) error {
	return pageTemplate.Execute(w, page{c, c.charts(), c.panels()})
}

// charts returns a chart of all policies for each amount that grows during a run.
func (c *Comparison) charts() []chart {
	of := func(amount func(*Sample) float64) func(*Sample) float64 {
		return func(s *Sample) float64 { return amount(s) / c.Bound }
	}
	return []chart{
		c.chart("Work refused", "so far, as a share of the upper bound", linear, of(func(s *Sample) float64 { return s.Refused })),
		c.chart("Quota that expired unused", "so far, as a share of the upper bound; only what refused requests could have used", linear,
			of(func(s *Sample) float64 { return s.Expired })),
		c.chart("Quota lost to caches left behind", "so far, as a share of the upper bound", linear, of(func(s *Sample) float64 { return s.CacheLost })),
		c.chart("Session moves", "so far, on a logarithmic scale", logarithmic, func(s *Sample) float64 { return float64(s.Moves) }),
	}
}

// chart is one plot with a line for each policy.
type chart struct {
	Title, Note  string
	frame        // of the plot
	Lines        []line
	Vertical     []tick // marks of the vertical axis
	Days         []tick
	LabelX, Zero float64
}

type line struct {
	Class  string // of the policy's colour
	Label  string
	LabelY float64
	Path   string
}

const (
	chartWidth, chartHeight = 560, 240
	labelGap                = 14 // between the names at the ends of lines
)

func (c *Comparison) chart(title, note string, scale scale, value func(*Sample) float64) chart {
	ch := chart{Title: title, Note: note, frame: frame{Left: 52, Top: 10, Width: chartWidth - 52 - 92, Height: chartHeight - 34}}
	length := c.length()
	highest := 0.0
	for i := range c.Results {
		for j := range c.Results[i].Samples {
			highest = max(highest, value(&c.Results[i].Samples[j]))
		}
	}
	top := scale.top(highest)
	for i := range c.Results {
		r := &c.Results[i]
		l := line{Class: classOfPolicy(i), Label: r.Policy}
		var y float64
		for j := range r.Samples {
			s := &r.Samples[j]
			y = ch.y(scale.at(value(s), top))
			l.Path += point(j, ch.x(s.At, length), y)
		}
		l.LabelY = y
		ch.Lines = append(ch.Lines, l)
	}
	spread(ch.Lines, ch.Top, ch.Top+ch.Height)
	for _, v := range scale.marks(top) {
		ch.Vertical = append(ch.Vertical, tick{ch.y(scale.at(v, top)), scale.name(v)})
	}
	ch.Days = ch.days(length)
	ch.LabelX, ch.Zero = ch.Left+ch.Width+6, ch.Top+ch.Height
	return ch
}

func classOfPolicy(i int) string { return fmt.Sprintf("p%d", i) }

// length returns the time that the samples span.
func (c *Comparison) length() time.Duration {
	samples := c.Results[0].Samples
	return samples[len(samples)-1].At
}

// panel shows the windows of every account under one policy.
type panel struct {
	Policy  string
	Class   string
	Caption string
	Strips  []strip
	Days    []tick
	Zero    float64
	Total   float64 // height
	Wide    float64
}

// strip is one account: how much of its windows is used over time.
type strip struct {
	frame
	Name, Plan string
	NameY      float64
	PlanY      float64
	Bottom     float64
	Five       string // an area
	Week       string
	Fable      string
}

const (
	stripHeight = 40
	stripGap    = 12
)

func (c *Comparison) panels() []panel {
	length := c.length()
	var panels []panel
	for i := range c.Results {
		r := &c.Results[i]
		p := panel{
			Policy: r.Policy, Class: classOfPolicy(i), Wide: chartWidth,
			Caption: fmt.Sprintf("%.1f %% served, %d refused to clients, %d moves", 100*r.OfBound, r.Limited, r.Moves),
		}
		for a, name := range c.Accounts {
			s := strip{frame: frame{Left: 84, Top: 8 + float64(a)*(stripHeight+stripGap), Width: chartWidth - 84 - 22, Height: stripHeight}, Name: name}
			if a < len(c.Options.Plans) {
				s.Plan = fmt.Sprintf("plan %g", c.Options.Plans[a])
			}
			s.NameY, s.PlanY, s.Bottom = s.Top+16, s.Top+30, s.Top+s.Height
			s.Five = point(0, s.Left, s.Bottom)
			for j := range r.Samples {
				at := s.x(r.Samples[j].At, length)
				used := func(w int) float64 { return s.y(min(1, r.Samples[j].Utilization[a][w])) }
				s.Five += point(1, at, used(claude.FiveHour))
				s.Week += point(j, at, used(claude.SevenDay))
				s.Fable += point(j, at, used(claude.Fable))
			}
			s.Five += point(1, s.Left+s.Width, s.Bottom) + "Z"
			p.Strips = append(p.Strips, s)
			p.Zero = s.Bottom
			p.Days = s.days(length)
		}
		p.Total = p.Zero + 24
		panels = append(panels, p)
	}
	return panels
}

// frame is the rectangle of a plot, in the units of its SVG.
type frame struct{ Left, Top, Width, Height float64 }

func (f *frame) x(at, length time.Duration) float64 {
	return f.Left + f.Width*at.Hours()/length.Hours()
}

func (f *frame) y(fraction float64) float64 { return f.Top + f.Height*(1-fraction) }

// tick is a mark of an axis.
type tick struct {
	At   float64
	Name string
}

// days returns the marks of the time axis, about ten of them with a name.
func (f *frame) days(length time.Duration) []tick {
	all := length.Hours() / 24
	step := max(1, math.Ceil(all/10))
	var marks []tick
	for day := 0.0; day <= all; day += step {
		marks = append(marks, tick{f.x(time.Duration(day*24)*time.Hour, length), fmt.Sprintf("day %.0f", day)})
	}
	return marks
}

func point(n int, x, y float64) string {
	verb := byte('L')
	if n == 0 {
		verb = 'M'
	}
	return fmt.Sprintf("%c%.1f %.1f", verb, x, y)
}
