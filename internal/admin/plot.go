package admin

import (
	"fmt"
	"strings"
)

// plotView is the utilization of an account over the last hours, as polylines in a box of plotWidth by plotHeight.
type plotView struct {
	Name  string
	Lines []plotLine
	Label string
}

type plotLine struct {
	Class  string
	Points []string // one entry for each unbroken stretch
}

const (
	plotWidth  = 360.0
	plotHeight = 60.0
)

// lineColors is how many classes of lines the style sheet has: line0, line1, ...
const lineColors = 6

// plotsView is the plots of all accounts. Lines of windows of the same name look alike.
type plotsView struct {
	Legend []legendEntry
	Plots  []plotView
}

type legendEntry struct{ Class, Window string }

// class returns the class of the lines of a window, which it adds to the legend if it is new.
func (v *plotsView) class(window string) string {
	for _, e := range v.Legend {
		if e.Window == window {
			return e.Class
		}
	}
	e := legendEntry{fmt.Sprintf("line%d", len(v.Legend)%lineColors), window}
	v.Legend = append(v.Legend, e)
	return e.Class
}

func (a *Admin) plots(pools Pools) plotsView {
	var view plotsView
	for _, p := range pools.Providers {
		for i := range p.Accounts {
			account := &p.Accounts[i]
			samples := a.history.of(p.Provider, account.AccountRef)
			if len(samples) < 2 {
				continue
			}
			v := plotView{Name: account.Name}
			for i, w := range account.AllWindows() {
				v.Lines = append(v.Lines, plotLine{view.class(label(w.Window)), stretches(samples, i)})
			}
			v.Label = fmt.Sprintf("Utilization of %s since %s UTC", v.Name, samples[0].at.UTC().Format("15:04"))
			view.Plots = append(view.Plots, v)
		}
	}
	return view
}

// stretches returns the points of one window, interrupted where the utilization is unknown.
func stretches(samples []sample, window int) []string {
	var all []string
	var points []string
	end := func() {
		if len(points) > 1 {
			all = append(all, strings.Join(points, " "))
		}
		points = nil
	}
	for i, s := range samples {
		u := s.utilization[window]
		if u < 0 {
			end()
			continue
		}
		x := plotWidth * float64(i) / float64(historyLimit-1)
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, plotHeight*(1-min(1, u))))
	}
	end()
	return all
}
