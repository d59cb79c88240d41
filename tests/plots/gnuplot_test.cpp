#include "plots/gnuplot.hpp"

#include <catch2/catch.hpp>

#include "plots/picture_file.hpp"
#include "plots/policy_rows.hpp"
#include "tests/plots/scratch_folder.hpp"

namespace ukemi {

TEST_CASE("distinct_labels: names that would read the same are numbered", "[gnuplot]") {
    const std::vector<std::string> names = {"abcdefghijklmn", "abcdefgxijklmn", "short",
                                            "abcdefgyijklmn", "ab… (2)"};
    CHECK(plots::distinct_labels(names, 7) ==
          std::vector<std::string>{"abc…lmn", "a…n (2)", "short", "a…n (3)", "ab… (2)"});
    CHECK(plots::distinct_labels(names, 14) == names);
    CHECK(plots::numbered_label("abcdefghijk", 1, 7) == "abc…ijk");
    CHECK(plots::numbered_label("abcdefghijk", 12, 4) == "a…k (12)");
}

TEST_CASE("label_text: one line, and a long name keeps its beginning and its end", "[gnuplot]") {
    CHECK(plots::label_text("greedy", 6) == "greedy");
    CHECK(plots::label_text("a\nb", 6) == "a\\nb");
    // 11 characters into 7: one for the ellipsis, three before it and three after it.
    CHECK(plots::label_text("abcdefghijk", 7) == "abc…ijk");
    CHECK(plots::label_text("abcdefghijk", 8) == "abcd…ijk");
    CHECK(plots::label_text("äöüäöüä", 3) == "ä…ä");
    CHECK(plots::label_text("φ ≥ 1, Ж’", 20) == "φ ≥ 1, Ж’");
    CHECK(plots::label_text("a 東京 🙂", 20) == "a ?? ?");
    CHECK(plots::label_text("", 20) == "(no name)");
    CHECK(plots::character_count(plots::label_text(std::string(10'000, 'x'), 28)) == 28);
}

TEST_CASE("gnuplot_string: a quote becomes typographic, nothing else is special", "[gnuplot]") {
    CHECK(plots::gnuplot_string("'it's") == "'’it’s'");
    CHECK(plots::gnuplot_string("`date` \\n %d @x \"q\"") == "'`date` \\n %d @x \"q\"'");
    CHECK(plots::gnuplot_string("a\n!touch b") == "'a\\n!touch b'");  // the line does not break
}

TEST_CASE("axis_range: from zero, unless all values are far from it and close together",
          "[gnuplot]") {
    CHECK(plots::axis_range(0, 0).low == 0);
    CHECK(plots::axis_range(0, 0).high == 1);
    CHECK(plots::axis_range(10, 100).low == 0);
    CHECK(plots::axis_range(10, 100).high == Approx(106));
    CHECK(plots::axis_range(7, 7).low == 0);  // one value: nothing to look at closely
    // 90 to 100: 8 % of the spread on either side.
    CHECK(plots::axis_range(90, 100).low == Approx(89.2));
    CHECK(plots::axis_range(90, 100).high == Approx(100.8));
}

TEST_CASE("tic_step: 1, 2 or 5, and no more steps than asked for", "[gnuplot]") {
    CHECK(plots::tic_step(1, 5) == Approx(0.2));
    CHECK(plots::tic_step(1.01, 5) == Approx(0.5));  // six steps of 0.2 would be needed
    CHECK(plots::tic_step(16, 6) == Approx(5));
    CHECK(plots::tic_step(0.012, 5) == Approx(0.005));
    CHECK(plots::tic_step(99, 1) == Approx(100));
}

TEST_CASE("log_tics: between powers of ten where these alone would be few", "[gnuplot]") {
    CHECK(plots::log_tics({80, 1500}) == "(100, 200, 500, 1000)");
    CHECK(plots::log_tics({0.2, 0.6}) == "(0.2, 0.5)");
    CHECK(plots::log_tics({1, 1000}) == "autofreq");
}

TEST_CASE("percent: never all or nothing where it is neither", "[gnuplot]") {
    CHECK(plots::percent(0) == "0");
    CHECK(plots::percent(0.001) == "<1");
    CHECK(plots::percent(0.505) == "50");  // 50.5 lies halfway, and fmt rounds to even
    CHECK(plots::percent(0.999) == ">99");
    CHECK(plots::percent(1) == "100");
}

TEST_CASE("script: settings stand before the loop over formats, drawing inside it",
          "[gnuplot][golden]") {
    plots::FigureSource source;
    source.name = "line";
    source.width = 300;
    source.height = 200;
    source.settings = "set xrange [0:1]";
    source.drawing = "    plot x";
    CHECK(plots::script_of(source) ==
          R"(# line.gp: draws line.svg and line.png from the CSV files beside it.
# In this folder: gnuplot line.gp     or, for print: gnuplot -e "formats='pdf'" line.gp
reset
set encoding utf8
set datafile separator comma
if (!exists("formats")) formats = 'svg png'
set xrange [0:1]
do for [ending in formats] {
    if (ending eq 'svg') {
        set terminal svg noenhanced size 300,200 dynamic \
            font 'DejaVu Sans,9.75' fontscale 1.33333 background rgb 'white'
    }
    if (ending eq 'png') {
        set terminal pngcairo noenhanced size 600,400 font 'DejaVu Sans,19.5' \
            linewidth 2 pointscale 2 background rgb 'white'
    }
    if (ending eq 'pdf') {
        set terminal pdfcairo noenhanced size 3,2 \
            font 'DejaVu Sans,9.4' fontscale 0.75 linewidth 1.44 pointscale 0.73 \
            background rgb 'white'
    }
    set output 'line.'.ending
    plot x
    unset output
}
)");
}

TEST_CASE("run_gnuplot: what the program prints comes back, with whether it succeeded",
          "[gnuplot]") {
    const ScratchFolder folder;
    // `sh` stands in for gnuplot: what is tested is the process, not the drawing.
    const plots::GnuplotRun good =
        plots::run_gnuplot("sh", folder.path(), {"-c", "pwd; echo warning >&2"});
    CHECK(good.found);
    CHECK(good.succeeded);
    CHECK(good.said == std::filesystem::canonical(folder.path()).string() + "\nwarning\n");

    const plots::GnuplotRun bad =
        plots::run_gnuplot("sh", folder.path(), {"-c", "echo no; exit 3"});
    CHECK(bad.found);
    CHECK_FALSE(bad.succeeded);
    CHECK(bad.said == "no\n");

    const plots::GnuplotRun loud =
        plots::run_gnuplot("sh", folder.path(), {"-c", "yes | head -c 100000"});
    CHECK(loud.succeeded);
    CHECK(loud.said.size() == 4096);

    const plots::GnuplotRun reader =
        plots::run_gnuplot("cat", folder.path(), {});  // nothing to read: it ends
    CHECK(reader.succeeded);

    CHECK_FALSE(plots::run_gnuplot("no-such-gnuplot", folder.path(), {}).found);
}

TEST_CASE("produce: an error of gnuplot is reported and leaves no picture behind", "[gnuplot]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder folder;
    plots::FigureSource source;
    source.name = "broken";
    source.drawing = "    plot 'no_such_file.csv' using 1:2";
    const plots::FigureResult result = plots::produce(source, folder.path(), {});
    CHECK_FALSE(result.skipped);
    CHECK(result.problem.find("broken.gp: gnuplot failed: ") != std::string::npos);
    CHECK(result.problem.find('\n') == std::string::npos);
    CHECK(result.files == std::vector{folder.path() / "broken.gp"});
    CHECK_FALSE(std::filesystem::exists(folder.path() / "broken.svg"));
}

TEST_CASE("picture_problem: a picture is whole when its end is there", "[gnuplot]") {
    const ScratchFolder folder;
    const auto problem = [&](const char* name, std::string_view text) {
        return plots::picture_problem(folder.file(name, text));
    };
    const std::string cut = "is cut short (is the disk full?)";
    CHECK(plots::picture_problem(folder / "none.svg") == "is missing");
    CHECK(problem("a.svg", "<svg>\n</svg>\n\n") == "");
    CHECK(problem("a.svg", "<svg>\n<g>") == cut);
    CHECK(problem("a.svg", "") == cut);
    CHECK(problem("a.pdf", "%PDF-1.5\n%%EOF\n") == "");
    CHECK(problem("a.pdf", "%PDF-1.5\n") == cut);
    using namespace std::string_literals;
    const std::string end = "\0\0\0\0IEND\xae\x42\x60\x82"s;
    const std::string start = "\x89PNG\r\n\x1a\n"s + "\0\0\0\2IHDRab1234"s;
    CHECK(problem("a.png", start + end) == "");
    for (std::size_t length = 0; length < start.size() + end.size(); ++length) {
        CHECK(problem("a.png", (start + end).substr(0, length)) == cut);
    }
    CHECK(problem("a.png", start + end + "x") == cut);
    CHECK(problem("a.png", "\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR" + end) == cut);
}

}  // namespace ukemi
