"""What is made of a report: terminal, HTML, JUnit, comparison, the page of capabilities."""
