#include "plots/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <set>
#include <system_error>

#include "base/invariant.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "plots/picture_file.hpp"

extern char** environ;

namespace ukemi::plots {
namespace {

constexpr auto drawing_time_max = std::chrono::seconds{60};
constexpr std::size_t said_bytes_max = 4096;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// Where the character with this index begins in well-formed text.
std::size_t byte_of_character(std::string_view text, std::size_t index) {
    std::size_t at = 0;
    for (; at < text.size(); ++at) {
        if (!begins_character(text[at])) continue;
        if (index == 0) break;
        --index;
    }
    return at;
}

// Latin, Greek, Cyrillic, punctuation, arrows and mathematics are in the font; of the rest, some.
std::string drawable(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = std::max<std::size_t>(byte_of_character(text, 1), 1);
        const auto lead = static_cast<unsigned char>(text[0]);
        const auto next = static_cast<unsigned char>(length > 1 ? text[1] : 0);
        const bool punctuation = lead == 0xE2 && next >= 0x80 && next <= 0x8B;  // U+2000 to U+22FF
        result += lead < 0xD4 || punctuation ? text.substr(0, length) : "?";    // below U+0500
        text.remove_prefix(length);
    }
    return result;
}

// Waits until the pipe closes or the time is up; true if it closed. Keeps the first kilobytes.
bool drain(int pipe_end, std::string& said) {
    const auto stop_at = std::chrono::steady_clock::now() + drawing_time_max;
    std::array<char, 1024> buffer{};
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            stop_at - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        pollfd waiting{pipe_end, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) continue;
        const ssize_t got = ::read(pipe_end, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        const std::size_t room = said_bytes_max - said.size();
        said.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
}

// Starts the program in the folder with stdin empty, stdout and stderr on `output`; 0 or an errno.
int start(const std::string& program, const std::filesystem::path& folder,
          const std::vector<std::string>& arguments, int output, pid_t& child) {
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    const int code =
        posix_spawnp(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

// gnuplot points at an error over several lines; a message is one.
std::string joined_lines(std::string_view text) {
    std::string line;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (space && (line.empty() || line.back() == ' ')) continue;
        line += space ? ' ' : c;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return one_line(line);
}

// Whether gnuplot ended well, and left whole pictures: a full disk is no error to it.
std::string drawing_problem(const GnuplotRun& run, const std::filesystem::path& script,
                            const std::vector<std::filesystem::path>& pictures) {
    if (!run.succeeded) {
        return fmt::format("{}: gnuplot failed: {}", script.string(),
                           run.said.empty() ? "it said nothing" : joined_lines(run.said));
    }
    for (const auto& picture : pictures) {
        const std::string problem = picture_problem(picture);
        if (problem.empty()) continue;
        const std::string said =
            run.said.empty() ? "" : fmt::format("; gnuplot said: {}", joined_lines(run.said));
        return fmt::format("{}: {}{}", picture.string(), problem, said);
    }
    return "";
}

}  // namespace

std::size_t character_count(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

double label_width(std::string_view text) {
    double width = 0;  // in DejaVu Sans of 13 pixels
    for (const char c : text) {
        const bool wide = std::string_view("MWmw@%").find(c) != std::string_view::npos;
        if (begins_character(c)) width += wide ? 13 : c >= 'A' && c <= 'Z' ? 10 : 8.2;
    }
    return width;
}

std::string label_text(std::string_view text, std::size_t characters_max) {
    INVARIANT(characters_max >= 3);
    std::string all = drawable(one_line(text));
    if (all.find_first_not_of(' ') == std::string::npos) all = "(no name)";
    const std::size_t count = character_count(all);
    if (count <= characters_max) return all;
    const std::size_t tail = (characters_max - 1) / 2;
    const std::size_t head = characters_max - 1 - tail;
    return fmt::format("{}…{}", all.substr(0, byte_of_character(all, head)),
                       all.substr(byte_of_character(all, count - tail)));
}

std::string numbered_label(std::string_view text, std::size_t number, std::size_t characters_max) {
    constexpr std::size_t characters_min = 3;
    if (number == 1) return label_text(text, characters_max);
    const std::string end = fmt::format(" ({})", number);
    const std::size_t left = characters_max - std::min(characters_max, end.size());
    return label_text(text, std::max(characters_min, left)) + end;
}

std::vector<std::string> distinct_labels(std::span<const std::string> texts,
                                         std::size_t characters_max) {
    std::vector<std::string> labels;
    std::set<std::string> taken;
    for (const std::string& text : texts) {
        std::string label = label_text(text, characters_max);
        for (std::size_t number = 2; !taken.insert(label).second; ++number) {
            label = numbered_label(text, number, characters_max);
        }
        labels.push_back(std::move(label));
    }
    return labels;
}

std::string label_or_name(std::string_view text, std::size_t characters_max) {
    const std::size_t bracket = text.rfind(" (");
    const bool fits = character_count(text) <= characters_max || bracket == text.npos;
    return label_text(fits ? text : text.substr(0, bracket), characters_max);
}

bool finite_and_ordered(const PlotPoints& points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!std::isfinite(points[i].first) || !std::isfinite(points[i].second)) return false;
        if (i > 0 && points[i].first < points[i - 1].first) return false;
    }
    return true;
}

bool good_file_stem(std::string_view stem) {
    return !stem.empty() && std::ranges::all_of(stem, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

std::string gnuplot_string(std::string_view text) {
    std::string result = "'";
    for (const char c : one_line(text)) {
        if (c == '\'') {
            result += "’";
        } else {
            result += c;
        }
    }
    return result + "'";
}

AxisRange axis_range(double min, double max) {
    INVARIANT(min <= max);
    if (min < 0) {
        const double margin = 0.08 * (std::max(max, 0.0) - min);
        return {min - margin, std::max(max, 0.0) + margin};
    }
    if (max <= 0) return {};
    if (min < 0.6 * max || min == max) return {0, 1.06 * max};
    const double margin = 0.08 * (max - min);
    return {min - margin, max + margin};
}

bool spans_decades(double min, double max) { return min > 0 && max >= 20 * min; }

namespace {

// Batches of 16384 are written out; what is not whole has four digits.
bool written_out(const std::vector<double>& values) {
    return std::ranges::all_of(
        values, [](double value) { return value == std::round(value) && std::abs(value) < 1e7; });
}

}  // namespace

std::string_view tic_format(const std::vector<double>& values) {
    return written_out(values) ? "'%.0f'" : "'%.4g'";
}

namespace {

double share_of(AxisRange range, bool log_scale, double value) {
    if (!log_scale) return (value - range.low) / (range.high - range.low);
    return std::log(value / range.low) / std::log(range.high / range.low);
}

bool stand_evenly(const std::vector<double>& values, AxisRange range, bool log_scale) {
    const auto gap = [&](std::size_t i) {
        return share_of(range, log_scale, values[i + 1]) - share_of(range, log_scale, values[i]);
    };
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        if (std::abs(gap(i) - gap(0)) > 0.02 * gap(0)) return false;
    }
    return true;
}

}  // namespace

std::vector<std::size_t> tics_with_room(const std::vector<double>& values,
                                        const std::vector<std::string>& labels, AxisRange range,
                                        bool log_scale, double pixels) {
    const std::size_t count = values.size();
    const auto share = [&](double value) { return share_of(range, log_scale, value); };
    // Pixels left between the labels of two.
    const auto between = [&](std::size_t left, std::size_t right) {
        return pixels * (share(values[right]) - share(values[left])) - 8 -
               (label_width(labels[left]) + label_width(labels[right])) / 2;
    };
    // One of each `stride`, and the last in place of those that are too close to it.
    const auto chosen = [&](std::size_t stride, bool greedy) {
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < count; i += stride) {
            if (!greedy || kept.empty() || between(kept.back(), i) >= 0) kept.push_back(i);
        }
        if (kept.empty() || kept.back() + 1 == count) return kept;
        while (kept.size() > 1 && between(kept.back(), count - 1) < 0) kept.pop_back();
        kept.push_back(count - 1);
        return kept;
    };
    if (!stand_evenly(values, range, log_scale)) return chosen(1, true);
    std::vector<std::size_t> kept;
    std::size_t first_stride = 0;
    for (std::size_t stride = 1; stride < count; ++stride) {
        const std::vector<std::size_t> some = chosen(stride, false);
        bool fit = true;
        for (std::size_t i = 1; i < some.size(); ++i)
            fit = fit && between(some[i - 1], some[i]) >= 0;
        if (!fit) continue;
        if (first_stride == 0) {
            first_stride = stride;
            kept = some;
        }
        if (stride > 3 * first_stride) break;
        const bool few = (count - 1) / stride < 3 && stride > first_stride;
        if (!few && (count - 1) % stride == 0) return some;  // as far from the last as between
    }
    return kept.empty() ? chosen(1, true) : kept;
}

std::string tics_at(const std::vector<double>& values, AxisRange range, bool log_scale,
                    double pixels) {
    const bool whole = written_out(values);
    std::vector<std::string> labels;
    for (const double value : values) {
        labels.push_back(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value));
    }
    const std::vector<std::size_t> kept = tics_with_room(values, labels, range, log_scale, pixels);
    constexpr std::size_t places_max = 20;  // a course has more: round numbers say as much
    if (!log_scale && values.size() > places_max && kept.size() < values.size() &&
        !stand_evenly(values, range, log_scale)) {
        return fmt::format("set xtics {} nomirror out\n",
                           tic_step(range.high - range.low, tics_on(pixels)));
    }
    std::vector<std::string> tics;
    for (const std::size_t i : kept) {
        tics.push_back(fmt::format("{}", values[i]));
    }
    return fmt::format("set xtics ({}) nomirror out\n", fmt::join(tics, ", "));
}

std::string log_tics(AxisRange range) {
    if (range.high > 100 * range.low) return "autofreq";
    std::vector<std::string> tics;
    for (double power = std::pow(10.0, std::floor(std::log10(range.low))); power <= range.high;
         power *= 10) {
        for (const double step : {1.0, 2.0, 5.0}) {
            const double tic = step * power;
            if (tic >= range.low && tic <= range.high) tics.push_back(fmt::format("{}", tic));
        }
    }
    return fmt::format("({})", fmt::join(tics, ", "));
}

int tics_on(double pixels) { return std::max(3, static_cast<int>(pixels / 56)); }

double tic_step(double high, int count) {
    INVARIANT(high > 0 && count > 0);
    const double power = std::pow(10.0, std::floor(std::log10(high / count)));
    for (const double step : {1.0, 2.0, 5.0}) {
        if (high <= count * step * power) return step * power;
    }
    return 10 * power;
}

// svg draws letters of so many pixels as the size says, and keeps lines of text 4/3 of that apart:
// without its factor, names of axes lie below the picture, and are left out without a word.
// pdfcairo counts 96 points of letters to an inch, draws lines of half a point, and points by its
// own measure: its factors make letters as large as they are asked for, the rest as in the PNG.
std::string script_of(const FigureSource& source, const FigureStyle& style) {
    constexpr double pixels = 13;  // of a letter
    constexpr double svg_pixels = 4.0 / 3;
    const double scale = style.scale();
    const auto whole = [&](double value) { return std::lround(value * scale); };
    return fmt::format(
        R"(# {name}.gp: draws {name}.svg and {name}.png from the CSV files beside it.
# In this folder: gnuplot {name}.gp     or, for print: gnuplot -e "formats='pdf'" {name}.gp
reset
set encoding utf8
set datafile separator comma
if (!exists("formats")) formats = 'svg png'
{settings}
do for [ending in formats] {{
    if (ending eq 'svg') {{
        set terminal svg noenhanced size {width},{height} dynamic \
            font 'DejaVu Sans,{font1:.4g}' fontscale {svg_scale:.6g} background rgb 'white'
    }}
    if (ending eq 'png') {{
        set terminal pngcairo noenhanced size {width2},{height2} font 'DejaVu Sans,{font2:.4g}' \
            linewidth 2 pointscale 2 background rgb 'white'
    }}
    if (ending eq 'pdf') {{
        set terminal pdfcairo noenhanced size {inches_wide:.6g},{inches_high:.6g} \
            font 'DejaVu Sans,{pdf_font:.4g}' fontscale 0.75 linewidth 1.44 pointscale 0.73 \
            background rgb 'white'
    }}
    set output '{name}.'.ending
{drawing}
    unset output
}}
)",
        fmt::arg("name", source.name), fmt::arg("settings", source.settings),
        fmt::arg("drawing", source.drawing), fmt::arg("width", whole(source.width)),
        fmt::arg("height", whole(source.height)), fmt::arg("width2", whole(2 * source.width)),
        fmt::arg("height2", whole(2 * source.height)),
        fmt::arg("font1", pixels * scale / svg_pixels), fmt::arg("svg_scale", svg_pixels),
        fmt::arg("font2", 1.5 * pixels * scale), fmt::arg("pdf_font", standard_font_pt * scale),
        fmt::arg("inches_wide", style.width_in.value_or(scale * source.width / pixels_per_inch)),
        fmt::arg("inches_high", scale * source.height / pixels_per_inch));
}

FigureResult produce(const FigureSource& source, const std::filesystem::path& folder,
                     const FigureOptions& options) {
    FigureResult result;
    const Figure* const of = figure_of_file(source.name);
    if (of != nullptr && !is_shown(*of, options.style, source.name)) return result;
    std::filesystem::create_directories(folder);
    const auto keep = [&](const std::string& file, const std::string& text) {
        write_file_atomically(folder / file, text);
        result.files.push_back(folder / file);
    };
    for (const auto& [file, text] : source.data) keep(file, text);
    const std::string script = source.name + ".gp";
    keep(script, script_of(source, options.style));

    std::vector<std::filesystem::path> pictures{folder / (source.name + ".svg"),
                                                folder / (source.name + ".png")};
    if (options.pdf) pictures.push_back(folder / (source.name + ".pdf"));
    // A picture that could not be drawn again must not look like this run's.
    for (const auto& picture : pictures) std::filesystem::remove(picture);
    const std::string formats = options.pdf ? "formats='svg png pdf'" : "formats='svg png'";
    const GnuplotRun run = run_gnuplot(options.gnuplot, folder, {"-d", "-e", formats, script});
    if (!run.found) {
        result.skipped = true;
        result.problem = fmt::format(
            "{} was not found (Debian package gnuplot-nox): figures are skipped, their data and "
            "scripts are in {}",
            options.gnuplot, folder.string());
        return result;
    }
    result.problem = drawing_problem(run, folder / script, pictures);
    if (result.problem.empty()) {
        result.files.insert(result.files.end(), pictures.begin(), pictures.end());
    } else {
        for (const auto& picture : pictures) std::filesystem::remove(picture);
    }
    return result;
}

GnuplotRun run_gnuplot(const std::string& program, const std::filesystem::path& folder,
                       const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe for gnuplot");
    }
    GnuplotRun run;
    pid_t child = -1;
    const int code = start(program, folder, arguments, ends[1], child);
    ::close(ends[1]);
    if (code != 0) {
        ::close(ends[0]);
        run.found = code != ENOENT && code != EACCES;
        run.said = std::strerror(code);
        return run;
    }
    const bool finished = drain(ends[0], run.said);
    ::close(ends[0]);
    if (!finished) {
        ::kill(child, SIGKILL);
        run.said += " stopped: took more than a minute";
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    run.succeeded = finished && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return run;
}

}  // namespace ukemi::plots
