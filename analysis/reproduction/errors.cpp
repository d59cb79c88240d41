// errors.cpp — how far a figure is from what was published, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/reproduction/reproduced_figure.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/statistics.hpp"

namespace ukemi::analysis {

namespace {

double naive_error_percent(const ReproducedValue& value) {
    return 100 * (*value.naive / *value.published - 1);
}

// "ResNet-50, KungFu, throughput"
std::string name_of(const ReproducedFigure& figure, const ReproducedValue& value) {
    std::string name = value.panel.empty() ? value.line : value.panel + ", " + value.line;
    if (figure.about.quantities.size() > 1) {
        name += ", " + figure.about.quantities[value.quantity].name;
    }
    if (value.distance_percent) name += ", course";
    return one_line(name);
}

// Where on the axis, for people.
std::string place_of(const ReproducedFigure& figure, const ReproducedValue& value) {
    const auto& places = figure.about.places;
    if (places.empty()) return fmt::format("{:.5g}", value.at);
    return one_line(places.at(static_cast<std::size_t>(value.at)));
}

std::string role_line(const ReproducedFigure& figure, std::string_view role) {
    double sum = 0;
    double worst = 0;
    double naive = 0;
    std::size_t count = 0;
    std::size_t guesses = 0;
    for (const ReproducedValue& value : figure.values) {
        if (!value.published || value.role != role) continue;
        const double error = value.error_percent();
        sum += std::abs(error);
        if (std::abs(error) > std::abs(worst)) worst = error;
        ++count;
        if (!value.naive) continue;
        naive += std::abs(naive_error_percent(value));
        ++guesses;
    }
    if (count == 0) return {};
    const std::string beside =
        guesses == count ? fmt::format("; naive {:.1f} %", naive / static_cast<double>(guesses))
                         : "";
    return fmt::format("  {}: {} value{}, mean error {:.1f} %, worst {:+.1f} %{}\n", role, count,
                       count == 1 ? "" : "s", sum / static_cast<double>(count), worst, beside);
}

RoleErrors::Spread spread_of(const std::vector<double>& errors) {
    if (errors.empty()) return {};
    const auto within = [&](double percent) {
        return static_cast<std::size_t>(
            std::ranges::count_if(errors, [&](double error) { return error <= percent; }));
    };
    return {errors.size(), median(errors), within(10), within(20)};
}

std::string spread_text(const RoleErrors::Spread& spread) {
    if (spread.values == 0) return fmt::format("{:>7}{:>10}{:>12}{:>12}", 0, "-", "-", "-");
    const auto share = [&](std::size_t values) {
        return 100 * static_cast<double>(values) / static_cast<double>(spread.values);
    };
    return fmt::format("{:>7}{:>8.1f} %{:>10.0f} %{:>10.0f} %", spread.values,
                       spread.median_percent, share(spread.within_10), share(spread.within_20));
}

nlohmann::json spread_json(const RoleErrors::Spread& spread) {
    return {{"values", spread.values},
            {"median_percent", spread.median_percent},
            {"within_10_percent", spread.within_10},
            {"within_20_percent", spread.within_20}};
}

}  // namespace

std::vector<RoleErrors> errors_by_role(std::span<const ReproducedFigure> figures) {
    std::vector<RoleErrors> roles;
    for (const std::string_view role : value_roles) {
        std::vector<double> ours;
        std::vector<double> ours_guessed;
        std::vector<double> naive;
        for (const ReproducedFigure& figure : figures) {
            for (const ReproducedValue& value : figure.values) {
                if (!value.published || value.role != role) continue;
                ours.push_back(std::abs(value.error_percent()));
                if (!value.naive) continue;
                ours_guessed.push_back(ours.back());
                naive.push_back(std::abs(naive_error_percent(value)));
            }
        }
        if (ours.empty()) continue;
        roles.push_back(
            {std::string(role), spread_of(ours), spread_of(ours_guessed), spread_of(naive)});
    }
    return roles;
}

std::string errors_by_role_table(std::span<const RoleErrors> roles) {
    std::string text = fmt::format("{:<34}{:>7}{:>10}{:>12}{:>12}\n", "all figures", "values",
                                   "median", "within 10 %", "within 20 %");
    for (const RoleErrors& one : roles) {
        text += fmt::format("{:<34}{}\n", one.role, spread_text(one.ours));
        if (one.naive.values == 0) continue;
        text += fmt::format("{:<34}{}\n", "  of them with a naive guess",
                            spread_text(one.ours_guessed));
        text += fmt::format("{:<34}{}\n", "  that guess", spread_text(one.naive));
    }
    return text;
}

nlohmann::json errors_by_role_json(std::span<const RoleErrors> roles) {
    nlohmann::json all = nlohmann::json::array();
    for (const RoleErrors& one : roles) {
        all.push_back({{"role", one.role},
                       {"ours", spread_json(one.ours)},
                       {"ours_with_guess", spread_json(one.ours_guessed)},
                       {"naive", spread_json(one.naive)}});
    }
    return all;
}

std::string errors_csv(std::span<const ReproducedFigure> figures) {
    CsvWriter csv({"figure", "panel", "line", "quantity", "at", "published", "simulated",
                   "error_percent", "role", "naive", "naive_error_percent"});
    for (const ReproducedFigure& figure : figures) {
        for (const ReproducedValue& value : figure.values) {
            csv.add(figure.about.name).add(one_line(value.panel)).add(one_line(value.line));
            csv.add(figure.about.quantities[value.quantity].column +
                    (value.distance_percent ? "_course" : ""));
            csv.add(place_of(figure, value));
            value.published ? csv.add(*value.published) : csv.add("");
            csv.add(value.simulated);
            value.published ? csv.add(value.error_percent()) : csv.add("");
            csv.add(value.role);
            value.naive ? csv.add(*value.naive) : csv.add("");
            value.naive ? csv.add(naive_error_percent(value)) : csv.add("");
            csv.end_row();
        }
    }
    return csv.text();
}

std::string errors_table(const ReproducedFigure& figure) {
    std::size_t wide = 20;
    std::size_t place_wide = 9;
    for (const ReproducedValue& value : figure.values) {
        if (!value.published) continue;
        wide = std::max(wide, name_of(figure, value).size());
        place_wide = std::max(place_wide, place_of(figure, value).size());
    }
    std::string text = fmt::format("{}: {}\n", figure.about.name, figure.about.title);
    const bool any = std::ranges::any_of(
        figure.values, [](const ReproducedValue& value) { return value.published.has_value(); });
    if (!any) {
        return text + fmt::format("  nothing was published in numbers: {} simulated values\n",
                                  figure.values.size());
    }
    text += fmt::format("  {:<{}} {:>{}} {:>11} {:>11} {:>9}  role\n", "", wide, "at", place_wide,
                        "published", "simulated", "error");
    for (const ReproducedValue& value : figure.values) {
        if (!value.published) continue;
        text += fmt::format("  {:<{}} {:>{}} {:>11.5g} {:>11.5g} {:>+7.1f} %  {}\n",
                            name_of(figure, value), wide, place_of(figure, value), place_wide,
                            *value.published, value.simulated, value.error_percent(), value.role);
    }
    for (const std::string_view role : value_roles) text += role_line(figure, role);
    const double worst = figure.worst_percent();
    if (worst > 0) {
        text += fmt::format("  bound {:g} %: {}\n", figure.about.bound_percent,
                            figure.is_within_bound() ? "kept" : "BROKEN");
    }
    return text;
}

nlohmann::json reproduced_json(const ReproducedFigure& figure) {
    nlohmann::json values = nlohmann::json::array();
    for (const ReproducedValue& value : figure.values) {
        nlohmann::json one = {{"panel", value.panel},
                              {"line", value.line},
                              {"quantity", figure.about.quantities[value.quantity].column},
                              {"at", value.at},
                              {"simulated", value.simulated}};
        if (value.published) {
            one["published"] = *value.published;
            one["error_percent"] = value.error_percent();
            one["role"] = value.role;
        }
        if (value.naive) one["naive"] = *value.naive;
        values.push_back(std::move(one));
    }
    nlohmann::json runs = nlohmann::json::array();
    for (const DescribedRun& run : figure.about.runs) runs.push_back(command_line(run));
    return {{"name", figure.about.name},
            {"talk", figure.about.talk},
            {"title", figure.about.title},
            {"source", figure.about.source},
            {"slide", figure.about.slide},
            {"commands", runs},
            {"worst_percent", figure.worst_percent()},
            {"bound_percent", figure.about.bound_percent},
            {"is_within_bound", figure.is_within_bound()},
            {"values", values}};
}

std::string figure_text(const ReproducedFigure& figure) {
    const FigureDescription& about = figure.about;
    std::string text = fmt::format("{}\n\n{}\nsource: {}\nslide:  {}\n", about.title, about.shows,
                                   about.source, about.slide);
    if (!about.text.empty()) text += fmt::format("\n{}\n", about.text);
    if (!about.naive.empty()) text += fmt::format("naive guess: {}\n", about.naive);
    text += fmt::format("\n{}\nSimulated by:\n", errors_table(figure));
    for (const DescribedRun& run : about.runs) text += fmt::format("  {}\n", command_line(run));
    return text;
}

}  // namespace ukemi::analysis
