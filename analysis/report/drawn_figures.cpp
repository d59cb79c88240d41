#include "analysis/report/drawn_figures.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "analysis/results.hpp"
#include "base/read_file.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

constexpr double column_in = 5.6;

class DrawingFolder {
public:
    DrawingFolder() {
        std::string name = (fs::temp_directory_path() / "ukemi-report-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), name);
        }
        path_ = name;
    }
    ~DrawingFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    DrawingFolder(const DrawingFolder&) = delete;
    DrawingFolder& operator=(const DrawingFolder&) = delete;

    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

// The place of the figure that a file shows in the table of figures.
std::size_t figure_of(const fs::path& svg) {
    const std::span<const plots::Figure> all = plots::all_figures();
    const plots::Figure* const figure = plots::figure_of_file(svg.stem().string());
    return figure == nullptr ? all.size() : static_cast<std::size_t>(figure - all.data());
}

// What the figure shows; of which run or variant, where its file's name says more.
std::string caption_of(const fs::path& svg, const fs::path& within) {
    const std::size_t place = figure_of(svg);
    if (place == plots::all_figures().size()) return within.string();
    const plots::Figure& figure = plots::all_figures()[place];
    std::string_view summary = figure.summary;
    if (summary.ends_with(')')) summary = summary.substr(0, summary.rfind(" ("));
    std::string caption(summary);
    const std::string more = svg.stem().string().substr(figure.name.size());
    const std::size_t letter = more.find_first_not_of("-_");
    if (letter != std::string::npos) caption += fmt::format(" ({})", more.substr(letter));
    if (within.has_parent_path()) caption += fmt::format(" — {}", within.parent_path().string());
    return caption;
}

void add_figure(ReportPart& part, const fs::path& svg, const fs::path& folder) {
    fs::path within = fs::relative(svg, folder);
    within.replace_extension();
    part.figures.push_back({within.string(), caption_of(svg, within), read_file(svg)});
}

}  // namespace

void draw_figures(ReportPart& part, const plots::FigureInput& input) {
    const DrawingFolder folder;
    plots::FigureOptions options;
    options.style.width_in = column_in;
    const plots::FigureResult drawn = draw_results(input, folder.path(), options);
    for (const fs::path& file : drawn.files) {
        if (file.extension() == ".svg") add_figure(part, file, folder.path());
    }
    // Its paths are of a folder that nobody will find.
    if (drawn.skipped) {
        part.figure_notes.emplace_back(
            "gnuplot was not found (Debian package gnuplot-nox): there are no figures here");
    } else if (!drawn.problem.empty()) {
        part.figure_notes.push_back("not every figure could be drawn: " + drawn.problem);
        part.is_drawing_failed = true;
    }
    part.figure_notes.insert(part.figure_notes.end(), drawn.notes.begin(), drawn.notes.end());
}

void add_drawn_figures(ReportPart& part, const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".svg") files.push_back(entry.path());
    }
    std::ranges::sort(files, {},
                      [](const fs::path& file) { return std::pair(figure_of(file), file); });
    for (const fs::path& file : files) add_figure(part, file, folder);
    if (files.empty()) part.figure_notes.emplace_back("the folder holds no figures");
}

}  // namespace ukemi::analysis
