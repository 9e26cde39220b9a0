"""Detectors: what they read is the ledger and the command graph, what they give are findings."""

from __future__ import annotations

from clsim.checks.finding import Finding, Findings, Place, Severity

__all__ = ["Finding", "Findings", "Place", "Severity"]
