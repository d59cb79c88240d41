// gnuplot.hpp — scripts that only draw, and the process that runs them.
//
// gnuplot substitutes commands in back quotes, expands macros and formats, and reads escapes, so
// text from outside enters a script in one way: as a single-quoted string at the top level, made by
// gnuplot_string(), and is shown only as a label, never as a tic (whose % begins a format). gnuplot
// is started directly, without a shell, without start-up files, with nothing to read, and is
// stopped if it takes more than a minute.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plots/figures.hpp"

namespace ukemi::plots {

// The text on one line, and at most so many characters: a long one loses its middle, as its end
// often is what tells it from its neighbour. Letters that DejaVu Sans lacks become question marks
// (gnuplot 5.4 spills ink over the whole figure for them); a text without any letter says so.
std::string label_text(std::string_view text, std::size_t characters_max);
// The same, ending with " (2)" and so on where an earlier label of the figure reads as it does.
std::string numbered_label(std::string_view text, std::size_t number, std::size_t characters_max);
std::vector<std::string> distinct_labels(std::span<const std::string> texts,
                                         std::size_t characters_max);
// The same without what it ends with in brackets, if only so it has room: "us-west-2a (12 days)".
std::string label_or_name(std::string_view text, std::size_t characters_max);
std::size_t character_count(std::string_view text);  // of well-formed UTF-8
double label_width(std::string_view text);           // pixels of the SVG, about; rather too many

// In single quotes nothing is special but a single quote. It becomes a typographic one: gnuplot 5.4
// has a doubled quote for it, but takes two of them at the beginning for an empty string.
std::string gnuplot_string(std::string_view text);

// The palette of Okabe and Ito (2008), which colour-blind readers can tell apart. Every use of a
// colour goes with a pattern, dash or point type of its own, so that grey prints read as well.
namespace colour {
inline constexpr std::string_view black = "#000000";
inline constexpr std::string_view grey = "#999999";
inline constexpr std::string_view light_grey = "#d9d9d9";
inline constexpr std::string_view orange = "#e69f00";
inline constexpr std::string_view sky = "#56b4e9";
inline constexpr std::string_view green = "#009e73";
inline constexpr std::string_view yellow = "#f0e442";
inline constexpr std::string_view blue = "#0072b2";
inline constexpr std::string_view vermillion = "#d55e00";
inline constexpr std::string_view purple = "#cc79a7";
}  // namespace colour

// Of bars of one kind, or of one part of stacked bars.
struct BarFill {
    std::string_view colour;
    std::string_view style;  // a pattern of its own for each, so that no colour is needed
};

bool finite_and_ordered(const PlotPoints& points);  // by time; equal times are in order
bool good_file_stem(std::string_view stem);         // letters, digits, '_' and '-', at least one

// From 0 if the values come near it, else close around them; never empty.
struct AxisRange {
    double low = 0;
    double high = 1;
};
AxisRange axis_range(double min, double max);

// Whether values, all above zero, lie so far apart that a linear axis would hide the smaller ones.
bool spans_decades(double min, double max);

// Which of these values, in order, have room for their labels on an axis of so many pixels, the
// first and the last among them: all, or every second, third, … of those that stand evenly, or
// those that are not too close to the one before.
std::vector<std::size_t> tics_with_room(const std::vector<double>& values,
                                        const std::vector<std::string>& labels, AxisRange range,
                                        bool log_scale, double pixels);
// "set xtics (…)" at those of these values, or at round numbers for a course of many places.
std::string tics_at(const std::vector<double>& values, AxisRange range, bool log_scale,
                    double pixels);
// How gnuplot writes numbers at these values: whole ones below ten million in full.
std::string_view tic_format(const std::vector<double>& values);

// 1, 2 or 5 times a power of ten, so that an axis from 0 to `high` has at most `count` steps.
double tic_step(double high, int count);

// For "set ytics" of a logarithmic axis: 1, 2 and 5 times powers of ten where these alone would be
// few, else gnuplot's own.
std::string log_tics(AxisRange range);

int tics_on(double pixels);  // so many have room for their numbers on an x axis

// Everything of one figure before gnuplot sees it.
struct FigureSource {
    std::string name;  // of the files, without an ending
    int width = 1000;  // pixels of the layout; of the SVG, and half the PNG's, where letters are
    int height = 600;  // of the standard size
    std::vector<std::pair<std::string, std::string>> data;  // file name, text
    std::string settings;  // run once, at the top level: the only place for text from outside
    std::string drawing;   // run once a format
};

std::string script_of(const FigureSource& source, const FigureStyle& style = {});

// Writes data and script into the folder, draws, and reports; nothing of a file that the style does
// not show.
FigureResult produce(const FigureSource& source, const std::filesystem::path& folder,
                     const FigureOptions& options);

struct GnuplotRun {
    bool found = true;
    bool succeeded = false;
    std::string said;  // what it printed, warnings too
};
GnuplotRun run_gnuplot(const std::string& program, const std::filesystem::path& folder,
                       const std::vector<std::string>& arguments);

}  // namespace ukemi::plots
